package disk

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/cespare/xxhash/v2"

	"github.com/weightmap/weightmap/internal/source"
)

// oldModel is the model in place, as it was when its index was read.
type oldModel struct {
	open  *os.File      // the index, open so that no other file gets its identity; nil for none
	info  fs.FileInfo   // of the index; nil if there is none
	parts []replaceable // that the index lists and this writer makes
	list  fs.FileInfo   // of Places.List and Places.File themselves, which may be links; nil for none
	file  fs.FileInfo
	hash  uint64 // of the index
}

// replaceable is a part of the model in place.
type replaceable struct {
	name   string
	info   fs.FileInfo
	hidden string // another path of it, by which its writer made it; "" if it has none
}

func (o *oldModel) release() {
	if o.open != nil {
		_ = o.open.Close()
		o.open = nil
	}
}

// readOld reads the index of the model in place.
func (m *Model) readOld() (*oldModel, error) {
	const most = 16
	for try := 1; ; try++ {
		old := &oldModel{}
		old.list = lstat(m.List)
		old.file = lstat(m.File)
		if err := m.readList(old); err != nil {
			return nil, err
		}
		if try == most || m.isCurrent(old) {
			if runtime.GOOS == "windows" { // which replaces no open file, and gives no identity twice
				old.release()
			}
			return old, nil
		}
		old.release()
	}
}

// lstat returns the FileInfo of a file, or of a link itself. It is nil if there is none.
func lstat(path string) fs.FileInfo {
	if path == "" {
		return nil
	}
	info, err := os.Lstat(path)
	if err != nil {
		return nil
	}
	os.SameFile(info, info) // Windows reads what identifies a file lazily, by its name: now
	return info
}

// hashed is how much of an index counts for the names of new parts, beside the names that it lists.
const hashed = 1 << 20

// readList reads the index if there is one. One that cannot be read lists nothing.
func (m *Model) readList(old *oldModel) error {
	if m.List == "" {
		return nil
	}
	f, info, err := openRegular(m.List)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil { // it can be replaced, but not read
		old.info, err = os.Stat(m.List)
		return err
	}
	old.open = f
	old.info = info
	h := xxhash.New()
	fmt.Fprintln(h, info.Size())
	if _, err := io.Copy(h, io.NewSectionReader(f, 0, hashed)); err != nil {
		return err
	}
	names, err := m.Read(f)
	if err != nil {
		names = nil
	}
	for _, name := range names {
		fmt.Fprintln(h, name)
		if _, ok := m.Generation(name); !ok {
			continue
		}
		info := lstat(m.at(name))
		if info != nil && info.Mode().IsRegular() {
			old.parts = append(old.parts, replaceable{name: name, info: info})
		}
	}
	old.hash = h.Sum64()
	return nil
}

// openRegular opens a regular file to read it. It does not block on a pipe.
func openRegular(path string) (*os.File, fs.FileInfo, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|source.NoWait, 0)
	if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a regular file: %w", path, os.ErrInvalid)
	}
	if err != nil {
		_ = f.Close()
		return nil, nil, err
	}
	return f, info, nil
}

// isCurrent reports whether the model that was read is still the one in place.
func (m *Model) isCurrent(old *oldModel) bool {
	if m.List == "" {
		return true
	}
	info, err := os.Stat(m.List)
	if err != nil {
		return old.info == nil
	}
	return old.info != nil && isSame(info, old.info)
}

// isSame reports whether a file was neither replaced nor rewritten.
func isSame(a, b fs.FileInfo) bool {
	return os.SameFile(a, b) && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime())
}

// removeReplaced removes what the new model, which is in place, has replaced. It is an error if the
// old index stays although the new model is not opened by it.
func (m *Model) removeReplaced(old *oldModel, names []string) error {
	isListed := m.List != m.Opens && old.list != nil
	isKept := m.NoSync || m.KeepOld
	var left []replaceable
	if !isKept {
		left = m.findLeft(old, names)
	}
	if isListed || m.hasPlain(left) {
		unmark, err := m.mark(m.List)
		switch {
		case err == nil:
			defer unmark()
		case isListed:
			return m.listStays(err)
		default:
			isKept = true
		}
	}
	if isListed {
		if err := m.removeList(old); err != nil {
			return err
		}
	}
	if isKept {
		return nil
	}
	if m.File != m.Opens && old.file != nil && old.file.Mode().IsRegular() {
		m.removeFile(old)
		if err := settle(filepath.Dir(m.File)); err != nil {
			return err
		}
	}
	m.removeParts(left)
	return nil
}

// hasPlain reports whether parts have plain names, which come again.
func (m *Model) hasPlain(parts []replaceable) bool {
	return slices.ContainsFunc(parts, func(p replaceable) bool {
		generation, _ := m.Generation(p.name)
		return generation == ""
	})
}

// errMarked means that another writer may be about to remove the new model.
var errMarked = errors.New("another writer of the model has not finished, or was killed less than a day ago")

func (m *Model) listStays(err error) error {
	return fmt.Errorf("the new model is in place, but the directory opens the old one by its index, %s, which cannot be removed: %w", filepath.Base(m.List), err)
}

// removeList removes the index of the old model, by which a directory opens. Another one that took
// its place meanwhile stays.
func (m *Model) removeList(old *oldModel) error {
	isReplaced := false
	end := time.Now().Add(patience)
	if err := before(Call{Name: "wait", Path: m.List}); err != nil {
		end = time.Now()
	}
	isFree := wait(end, func() bool {
		now := lstat(m.List)
		isReplaced = now == nil || !isSame(now, old.list)
		return isReplaced || !m.isMarked(m.File)
	})
	if isReplaced || isFree && !m.isInPlace() {
		return nil // by another writer, whose model is in place
	}
	if !isFree {
		return m.listStays(errMarked)
	}
	err := removeSame(m.List, old.list)
	if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, errReplaced) {
		return m.listStays(err)
	}
	if m.NoSync {
		return nil
	}
	return settle(filepath.Dir(m.List))
}

// removeFile removes the old model in one file, unless another writer may be about to remove the
// index of the new one, or has done so.
func (m *Model) removeFile(old *oldModel) {
	unmark, err := m.mark(m.File)
	if err != nil {
		return
	}
	defer unmark()
	if !m.isMarked(m.List) && m.isInPlace() {
		_ = removeSame(m.File, old.file)
	}
}

// findLeft returns the parts that only the old model had, and those that no model names since their
// writer was killed.
func (m *Model) findLeft(old *oldModel, names []string) (left []replaceable) {
	isNew := make(map[string]bool, len(names))
	for _, name := range names {
		isNew[name] = true
	}
	orphans := m.findOrphans(old, isNew)
	for _, p := range append(old.parts, orphans...) {
		if !isNew[p.name] {
			left = append(left, p)
		}
	}
	return left
}

// removeParts removes those of the parts that no other index lists. Failing to remove one is not an
// error.
func (m *Model) removeParts(left []replaceable) {
	for _, p := range m.unlisted(left) {
		err := removeSame(m.at(p.name), p.info)
		if err == nil && p.hidden != "" {
			_ = Remove(p.hidden)
		}
	}
}

// findOrphans returns parts that are a day old, with a generation in their names, or with plain
// names if a writer died while it gave them: then they still have their hidden names. It lists the
// directory the first time that this process replaces the model, or writes it where a writer was
// killed.
func (m *Model) findOrphans(old *oldModel, isNew map[string]bool) (left []replaceable) {
	below := filepath.Dir(m.at(m.Name(0, zeros)))
	if m.List == "" || old.info == nil && !hadLeftovers(below) || !isFirst(m.Opens, "parts") {
		return nil
	}
	entries, err := os.ReadDir(below)
	if err != nil {
		return nil
	}
	prefix, err := filepath.Rel(m.Dir, below)
	if err != nil {
		return nil
	}
	dead := findLeftovers(entries, 0)
	isOld := make(map[string]bool, len(old.parts))
	for i := range old.parts {
		p := &old.parts[i]
		isOld[p.name] = true
		p.hidden = sameAs(p.info, below, dead)
	}
	for _, e := range entries {
		name := filepath.ToSlash(filepath.Join(prefix, e.Name()))
		generation, ok := m.Generation(name)
		if !ok || isOld[name] || isNew[name] {
			continue
		}
		info := lstat(m.at(name)) // on Windows a listing may report another identity
		if info == nil || !info.Mode().IsRegular() || time.Since(info.ModTime()) < abandoned {
			continue
		}
		hidden := sameAs(info, below, dead)
		if generation != "" || hidden != "" {
			left = append(left, replaceable{name, info, hidden})
		}
	}
	return left
}

// mostOdd limits the parts in other directories, and links to parts, that other indexes may list.
const mostOdd = 1000

// unlisted returns those of the parts that no other index lists. There are none if an index cannot
// be read.
func (m *Model) unlisted(parts []replaceable) []replaceable {
	if len(parts) == 0 {
		return nil
	}
	l := &listed{m: m, names: map[string]bool{}}
	for _, dir := range append([]string{m.Dir}, m.Look...) {
		if err := l.add(dir); err != nil {
			return nil
		}
	}
	return slices.DeleteFunc(parts, func(p replaceable) bool { return l.has(p) })
}

// listed is what the indexes in the directories of a model list.
type listed struct {
	m     *Model
	names map[string]bool // lower-case paths
	odd   []fs.FileInfo   // of those that may be another name of a part
}

// add adds the indexes of a directory, except the one of the new model.
func (l *listed) add(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	own := lstat(l.m.opening.final)
	for _, e := range entries {
		if IsHidden(e.Name()) || !l.m.MayList(e.Name()) {
			continue
		}
		path := filepath.Join(dir, e.Name())
		info, err := os.Stat(path)
		if err != nil || !info.Mode().IsRegular() || own != nil && os.SameFile(info, own) {
			continue
		}
		if err := l.addIndex(path); err != nil {
			return err
		}
	}
	return nil
}

func (l *listed) addIndex(path string) error {
	f, _, err := openRegular(path)
	if err != nil {
		return err
	}
	defer f.Close()
	names, err := l.m.Read(f)
	if err != nil {
		return err
	}
	for _, name := range names {
		at := filepath.Join(filepath.Dir(path), filepath.FromSlash(name))
		l.names[strings.ToLower(at)] = true
		isLink := false
		if info := lstat(at); info != nil {
			isLink = info.Mode()&fs.ModeSymlink != 0
		}
		if !isLink && !strings.Contains(name, "/") {
			continue
		}
		info, err := os.Stat(at)
		if err != nil {
			continue
		}
		if len(l.odd) == mostOdd {
			return fmt.Errorf("%s lists many links", path)
		}
		l.odd = append(l.odd, info)
	}
	return nil
}

func (l *listed) has(p replaceable) bool {
	if l.names[strings.ToLower(l.m.at(p.name))] {
		return true
	}
	return slices.ContainsFunc(l.odd, func(info fs.FileInfo) bool { return os.SameFile(info, p.info) })
}
