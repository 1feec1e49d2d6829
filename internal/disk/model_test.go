package disk

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/internal/testhost"
	"github.com/weightmap/weightmap/tensor"
)

// toy is an Index of lines. Parts of the model "m" are called "m-1" and "m-0123456789abcdef-1".
type toy struct {
	base string
	text string // of a model in one file, which has no parts
}

func (x toy) Name(i int, generation string) string {
	if generation != "" {
		generation += "-"
	}
	return fmt.Sprintf("%s-%s%d", x.base, generation, i+1)
}

func (x toy) Generation(name string) (string, bool) {
	found := regexp.MustCompile(`^` + x.base + `-(?:([0-9a-f]{16})-)?[0-9]$`).FindStringSubmatch(name)
	if found == nil {
		return "", false
	}
	return found[1], true
}

func (x toy) Write(f *File, names []string) error {
	text := x.text
	if len(names) > 0 {
		text = strings.Join(names, "\n")
	}
	if err := f.Truncate(0); err != nil {
		return err
	}
	_, err := f.WriteAt([]byte(text), 0)
	return err
}

func (x toy) Read(f *os.File) ([]string, error) {
	b, err := io.ReadAll(io.NewSectionReader(f, 0, 1<<20))
	if err != nil {
		return nil, err
	}
	if string(b) == "damaged" {
		return nil, tensor.ErrCorrupt
	}
	return strings.Split(string(b), "\n"), nil
}

func (x toy) MayList(name string) bool { return strings.HasSuffix(name, ".index") }

// toyModel is a model to write at m in a directory: in parts and m.index, or as the file m.
type toyModel struct {
	parts []string
	text  string
	set   func(m *Model)
}

// in writes the model into a directory.
func (w toyModel) in(dir string) error {
	m, err := w.begin(dir)
	if err != nil {
		return err
	}
	defer m.Abort()
	return m.Publish()
}

// begin writes everything under hidden names.
func (w toyModel) begin(dir string) (*Model, error) {
	file := filepath.Join(dir, "m")
	p := Places{Dir: dir, Opens: file, List: file + ".index", File: file}
	if len(w.parts) > 0 {
		p.Opens = p.List
	}
	m, err := CreateModel(p, toy{"m", w.text}, len(w.parts))
	if err != nil {
		return nil, err
	}
	if w.set != nil {
		w.set(m)
	}
	for i, text := range w.parts {
		if err := writePart(m, i, text); err != nil {
			m.Abort()
			return nil, err
		}
	}
	return m, nil
}

func writePart(m *Model, i int, text string) error {
	f, err := m.CreatePart(i)
	if err != nil {
		return err
	}
	if _, err := f.WriteAt([]byte(text), 0); err != nil {
		return err
	}
	for _, b := range []byte(text) {
		m.Contents += uint64(b)
	}
	return f.Complete()
}

// models returns what a directory holds: the model that its index opens, and the one in one file, "" for none.
func models(t *testing.T, dir string) (listed, single string) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, "m"))
	if err == nil {
		single = string(b)
	}
	b, err = os.ReadFile(filepath.Join(dir, "m.index"))
	if errors.Is(err, fs.ErrNotExist) {
		return "", single
	}
	expect.OK(t, err)
	for name := range strings.SplitSeq(string(b), "\n") {
		part, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Errorf("a part is missing: %v", err)
		}
		listed += string(part)
	}
	return listed, single
}

func show(dir, path string) string {
	name := strings.TrimPrefix(strings.TrimPrefix(path, dir), string(filepath.Separator))
	if name == "" {
		return "."
	}
	if IsHidden(name) {
		name = "~" + name[1:len(name)-len(hiddenEnd)-digits-1]
	}
	return regexp.MustCompile(`[0-9a-f]{16}`).ReplaceAllString(name, "G")
}

// logged returns the changes that f makes to a directory, apart from creating and filling files.
func logged(t *testing.T, dir string, f func() error) (log []string) {
	t.Helper()
	SetHook(func(c Call) error {
		switch c.Name {
		case "create", "write", "truncate", "close", "inherit":
			return nil
		case "link", "rename":
			log = append(log, fmt.Sprintf("%s %s %s", c.Name, show(dir, c.From), show(dir, c.Path)))
		default:
			log = append(log, fmt.Sprintf("%s %s", c.Name, show(dir, c.Path)))
		}
		return nil
	})
	defer SetHook(nil)
	expect.OK(t, f())
	return log
}

// TestOrder demands the order of fsync, link and rename, for each kind of model over each other.
func TestOrder(t *testing.T) {
	testhost.NeedHardLinks(t)
	two := toyModel{parts: []string{"a", "b"}}
	one := toyModel{text: "c"}
	with := func(m toyModel, set func(*Model)) toyModel {
		m.set = set
		return m
	}
	noSync := func(m *Model) {
		m.NoSync = true
		m.opening.NoSync = true
	}
	keepOld := func(m *Model) { m.KeepOld = true }
	place := []string{"link ~m-G-1 m-G-1", "link ~m-G-2 m-G-2"}
	tests := []struct {
		name     string
		old, new toyModel
		want     []string
	}{
		{"parts over nothing", toyModel{}, two, []string{
			"sync ~m-G-1", "sync ~m-G-2", "lock .", "link ~m-G-1 m-1", "link ~m-G-2 m-2", "sync ~m.index", "sync directory .",
			"rename ~m.index m.index", "remove ~m-G-1", "remove ~m-G-2", "sync directory ."}},
		{"parts over parts", toyModel{parts: []string{"x", "y", "z"}}, two, slices.Concat(
			[]string{"sync ~m-G-1", "sync ~m-G-2", "lock ."}, place,
			[]string{"sync ~m.index", "sync directory .", "rename ~m.index m.index", "remove ~m-G-1", "remove ~m-G-2",
				"sync directory .", "mark ~m.index.removing", "remove m-1", "remove m-2", "remove m-3", "remove ~m.index.removing"})},
		{"parts over a file", one, two, []string{
			"sync ~m-G-1", "sync ~m-G-2", "lock .", "link ~m-G-1 m-1", "link ~m-G-2 m-2", "sync ~m.index", "sync directory .",
			"rename ~m.index m.index", "remove ~m-G-1", "remove ~m-G-2", "sync directory .", "mark ~m.removing", "remove m", "remove ~m.removing", "sync directory ."}},
		{"a file over parts", two, one, []string{
			"lock .", "sync ~m", "rename ~m m", "sync directory .", "mark ~m.index.removing", "wait m.index", "remove m.index", "sync directory .",
			"remove m-1", "remove m-2", "remove ~m.index.removing"}},
		{"a file over a file", one, toyModel{text: "d"}, []string{"lock .", "sync ~m", "rename ~m m", "sync directory ."}},
		{"parts over parts without sync", two, with(two, noSync), slices.Concat(
			[]string{"lock ."}, place, []string{"rename ~m.index m.index", "remove ~m-G-1", "remove ~m-G-2"})},
		{"a file over parts without sync", two, with(one, noSync), []string{
			"lock .", "rename ~m m", "mark ~m.index.removing", "wait m.index", "remove m.index", "remove ~m.index.removing"}},
		{"parts over parts that are kept", two, with(two, keepOld), slices.Concat(
			[]string{"sync ~m-G-1", "sync ~m-G-2", "lock ."}, place,
			[]string{"sync ~m.index", "sync directory .", "rename ~m.index m.index", "remove ~m-G-1", "remove ~m-G-2", "sync directory ."})},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := testhost.TempDir(t)
			if tt.old.parts != nil || tt.old.text != "" {
				expect.OK(t, tt.old.in(dir))
			}
			expect.Equal(t, tt.want, logged(t, dir, func() error { return tt.new.in(dir) }))
		})
	}
}

// TestOrderOfSplit: the first part, which opens the model, appears when all others are durable.
func TestOrderOfSplit(t *testing.T) {
	testhost.NeedHardLinks(t)
	dir := testhost.TempDir(t)
	expect.Equal(t, []string{
		"sync ~m-1", "sync ~m-2", "sync ~m-3", "lock .", "link ~m-2 m-2", "link ~m-3 m-3", "sync directory .", "link ~m-1 m-1",
		"remove ~m-1", "remove ~m-2", "remove ~m-3", "sync directory .",
	}, logged(t, dir, func() error { return writeSplit(dir, 3) }))
	wantFiles(t, dir, map[string]string{"m-1": "1", "m-2": "2", "m-3": "3"})
}

// writeSplit writes a model m in n parts.
func writeSplit(dir string, n int) error {
	var paths []string
	for i := range n {
		paths = append(paths, filepath.Join(dir, fmt.Sprint("m-", i+1)))
	}
	s, err := CreateSplit(filepath.Join(dir, "m"), paths, toySplit{})
	if err != nil {
		return err
	}
	defer s.Abort()
	for i := range n {
		f, err := s.CreatePart(i)
		if err != nil {
			return err
		}
		if _, err := fmt.Fprint(io.NewOffsetWriter(f, 0), i+1); err != nil {
			return err
		}
		if err := f.Complete(); err != nil {
			return err
		}
	}
	return s.Publish()
}

// toySplit has the names of the parts of a model m.
type toySplit struct{}

func (toySplit) Excludes(names []string) string { return splitOf(names) }

func (toySplit) First(name string) string {
	if strings.HasPrefix(name, "m-") {
		return "m-1"
	}
	return ""
}

// splitOf returns the name of a file of a model m.
func splitOf(names []string) string {
	for _, name := range names {
		if name == "m" || strings.HasPrefix(name, "m-") {
			return name
		}
	}
	return ""
}

// TestExcluded: a model that cannot be beside another one is not written, also if that one appears meanwhile. It is written where it
// has been before.
func TestExcluded(t *testing.T) {
	write := func(dir string) error {
		path := filepath.Join(dir, "m")
		m, err := CreateModel(Places{Dir: dir, Opens: path, File: path, Excludes: splitOf}, toy{"m", "new"}, 0)
		if err != nil {
			return err
		}
		defer m.Abort()
		return m.Publish()
	}
	for _, call := range []string{"", "create", "lock"} {
		dir := testhost.TempDir(t)
		other := func() { mustWrite(t, filepath.Join(dir, "m-1"), "other", 0o644) }
		if call == "" {
			other()
		}
		SetHook(func(c Call) error {
			if c.Name == call {
				SetHook(nil)
				other()
			}
			return nil
		})
		err := write(dir)
		SetHook(nil)
		expect.Refused(t, fs.ErrExist, call)(nil, err)
		wantFiles(t, dir, map[string]string{"m-1": "other"})
	}
	dir := testhost.TempDir(t)
	mustWrite(t, filepath.Join(dir, "m"), "old", 0o644)
	mustWrite(t, filepath.Join(dir, "m-1"), "other", 0o644)
	expect.OK(t, write(dir))
	wantFiles(t, dir, map[string]string{"m": "new", "m-1": "other"})
}

// TestSplitRefused: a split model is not written over one, also if it appears meanwhile. Nothing is left behind.
func TestSplitRefused(t *testing.T) {
	for _, call := range []string{"create", "lock", "link"} {
		dir := testhost.TempDir(t)
		SetHook(func(c Call) error {
			if c.Name == call {
				SetHook(nil)
				mustWrite(t, filepath.Join(dir, "m-2"), "other", 0o644)
			}
			return nil
		})
		err := writeSplit(dir, 3)
		SetHook(nil)
		expect.Refused(t, fs.ErrExist, call)(nil, err)
		wantFiles(t, dir, map[string]string{"m-2": "other"})
		expect.Refused(t, fs.ErrExist, call, "again")(nil, writeSplit(dir, 4))
	}
}

// TestNames: plain names if no model is in place and none of them is taken, else names that never come again. The same
// data over the same files has the same names.
func TestNames(t *testing.T) {
	dirs := []string{testhost.TempDir(t), testhost.TempDir(t)}
	seen := map[string]bool{}
	for i := range 6 {
		var all [][]string
		for _, dir := range dirs {
			expect.OK(t, toyModel{parts: []string{"a", "b"}}.in(dir))
			all = append(all, names(t, dir))
		}
		expect.Equal(t, all[0], all[1])
		if i == 0 {
			expect.Equal(t, []string{"m-1", "m-2", "m.index"}, all[0])
		}
		for _, name := range all[0] {
			if seen[name] && name != "m.index" {
				t.Errorf("write %d: %s came again", i, name)
			}
			seen[name] = true
		}
	}
	// A plain name that is taken, without an index.
	dir := testhost.TempDir(t)
	mustWrite(t, filepath.Join(dir, "m-2"), "mine", 0o644)
	expect.OK(t, toyModel{parts: []string{"a", "b"}}.in(dir))
	listed, _ := models(t, dir)
	expect.Equal(t, "ab", listed)
	expect.Equal(t, "mine", string(expect.Read(t, filepath.Join(dir, "m-2"))))
	if len(names(t, dir)) != 4 {
		t.Errorf("left behind: %q", names(t, dir))
	}
}

// TestHostileIndex: of what the old index lists only regular files are removed that have names of this model, that were
// there when it was read, and that no other index lists.
func TestHostileIndex(t *testing.T) {
	testhost.NeedLinks(t)
	const generation = "m-0123456789abcdef-1"
	tests := []struct {
		name  string
		lists string // a line of the old index
		prep  func(t *testing.T, dir string)
		path  string // of the file that is listed
		gone  bool
	}{
		{"a part", "m-3", nil, "m-3", true},
		{"a part with a generation", generation, nil, generation, true},
		{"a neighbor's file", "n-1", nil, "n-1", false},
		{"a file of another kind", "notes", nil, "notes", false},
		{"the parent", "../m-3", nil, "../m-3", false},
		{"a directory below", "sub/m-3", nil, "sub/m-3", false},
		{"the directory itself", "./m-3", nil, "m-3", false},
		{"a part that another index lists", "m-3", func(t *testing.T, dir string) {
			mustWrite(t, filepath.Join(dir, "n.index"), "m-3", 0o644)
		}, "m-3", false},
		{"one that another index lists in capitals", "m-3", func(t *testing.T, dir string) {
			mustWrite(t, filepath.Join(dir, "n.index"), "M-3", 0o644)
		}, "m-3", false},
		{"one that another index lists by a link", "m-3", func(t *testing.T, dir string) {
			expect.OK(t, os.Symlink("m-3", filepath.Join(dir, "link")))
			mustWrite(t, filepath.Join(dir, "n.index"), "link", 0o644)
		}, "m-3", false},
		{"one that another index lists by a longer path", "m-3", func(t *testing.T, dir string) {
			expect.OK(t, os.Symlink(".", filepath.Join(dir, "loop")))
			mustWrite(t, filepath.Join(dir, "n.index"), "loop/m-3", 0o644)
		}, "m-3", false},
		{"another index that is damaged", "m-3", func(t *testing.T, dir string) {
			mustWrite(t, filepath.Join(dir, "n.index"), "damaged", 0o644)
		}, "m-3", false},
		{"a file called like an index that is a directory", "m-3", func(t *testing.T, dir string) {
			expect.OK(t, os.Mkdir(filepath.Join(dir, "n.index"), 0o755))
		}, "m-3", true},
		{"a link", "m-3", func(t *testing.T, dir string) {
			expect.OK(t, os.Remove(filepath.Join(dir, "m-3")))
			expect.OK(t, os.Symlink("n-1", filepath.Join(dir, "m-3")))
		}, "m-3", false},
		{"a directory", "m-3", func(t *testing.T, dir string) {
			expect.OK(t, os.Remove(filepath.Join(dir, "m-3")))
			expect.OK(t, os.Mkdir(filepath.Join(dir, "m-3"), 0o755))
		}, "m-3", false},
		{"a file that took its place meanwhile", "m-3", func(t *testing.T, dir string) {
			SetHook(func(c Call) error {
				if c.Name == "rename" {
					SetHook(nil)
					mustWrite(t, filepath.Join(dir, "other"), "other", 0o644)
					expect.OK(t, os.Rename(filepath.Join(dir, "other"), filepath.Join(dir, "m-3")))
				}
				return nil
			})
		}, "m-3", false},
	}
	for _, tt := range tests {
		for _, single := range []bool{false, true} {
			t.Run(fmt.Sprint(tt.name, single), func(t *testing.T) {
				dir := filepath.Join(testhost.TempDir(t), "d")
				expect.OK(t, os.MkdirAll(filepath.Join(dir, "sub"), 0o755))
				expect.OK(t, toyModel{parts: []string{"a", "b"}}.in(dir))
				for _, name := range []string{"m-3", generation, "n-1", "notes", "../m-3", "sub/m-3"} {
					mustWrite(t, filepath.Join(dir, filepath.FromSlash(name)), "x", 0o644)
				}
				mustWrite(t, filepath.Join(dir, "m.index"), "m-1\nm-2\n"+tt.lists, 0o644)
				if tt.prep != nil {
					tt.prep(t, dir)
				}
				fresh := toyModel{parts: []string{"c"}}
				if single {
					fresh = toyModel{text: "c"}
				}
				err := fresh.in(dir)
				SetHook(nil)
				expect.OK(t, err)
				listed, file := models(t, dir)
				expect.Equal(t, "c", listed+file)
				if exists(filepath.Join(dir, filepath.FromSlash(tt.path))) == tt.gone {
					t.Errorf("gone should be %v; there are %q", tt.gone, names(t, dir))
				}
			})
		}
	}
}

// TestNoLinks: a file system without hard links.
func TestNoLinks(t *testing.T) {
	SetHook(func(c Call) error {
		if c.Name == "link" {
			return errors.ErrUnsupported
		}
		return nil
	})
	defer SetHook(nil)
	dir := testhost.TempDir(t)
	for _, m := range []toyModel{{parts: []string{"a", "b"}}, {parts: []string{"c"}}, {text: "d"}, {parts: []string{"e", "f"}}} {
		expect.OK(t, m.in(dir))
		listed, single := models(t, dir)
		expect.Equal(t, strings.Join(m.parts, "")+m.text, listed+single)
		if want := max(1, len(m.parts)+1); len(names(t, dir)) != want && m.text == "" {
			t.Errorf("%q are left", names(t, dir))
		}
	}
	expect.OK(t, writeSplit(testhost.TempDir(t), 3))
}

// TestChangedIndex: an index that another writer has replaced is read again, and the parts get other names.
func TestChangedIndex(t *testing.T) {
	testhost.NeedHardLinks(t)
	dir := testhost.TempDir(t)
	expect.OK(t, toyModel{parts: []string{"a", "b"}}.in(dir))
	var placed []string
	isDone := false
	SetHook(func(c Call) error {
		if c.Name == "link" {
			placed = append(placed, filepath.Base(c.Path))
		}
		if c.Name == "sync directory" && !isDone {
			isDone = true
			SetHook(withoutLock)
			expect.OK(t, toyModel{parts: []string{"x", "y", "z"}}.in(dir))
			SetHook(func(c Call) error {
				if c.Name == "link" {
					placed = append(placed, filepath.Base(c.Path))
				}
				return nil
			})
		}
		return nil
	})
	defer SetHook(nil)
	expect.OK(t, toyModel{parts: []string{"c", "d"}}.in(dir))
	if len(placed) != 4 || placed[0] == placed[2] {
		t.Errorf("the parts were called %q", placed)
	}
	expect.Equal(t, append(placed[2:], "m.index"), names(t, dir))
	listed, _ := models(t, dir)
	expect.Equal(t, "cd", listed)
}

// withoutLock is a file system without locks, on which no writer waits.
func withoutLock(c Call) error {
	if c.Name == "lock" || c.Name == "wait" {
		return errInjected
	}
	return nil
}

// TestTwoWriters: at each change that one writer makes, another writes its model whole, without the lock. There is always
// a whole model, and in the end no more than one of each kind.
func TestTwoWriters(t *testing.T) {
	kinds := map[string]func(text string) toyModel{
		"parts":  func(text string) toyModel { return toyModel{parts: []string{text, text}} },
		"a file": func(text string) toyModel { return toyModel{text: text + text} },
	}
	isWhole := map[string]bool{"": true, "oo": true, "aa": true, "bb": true}
	for old, writeOld := range kinds {
		for first, writeFirst := range kinds {
			for second, writeSecond := range kinds {
				t.Run(fmt.Sprintf("%s and %s over %s", first, second, old), func(t *testing.T) {
					for k := 1; ; k++ {
						dir := testhost.FastDir(t)
						expect.OK(t, writeOld("o").in(dir))
						n := 0
						check := func(c Call) {
							listed, single := models(t, dir)
							if !isWhole[listed] || !isWhole[single] || listed+single == "" {
								t.Errorf("call %d of the first, %s %s: %q, %q", k, c.Name, show(dir, c.Path), listed, single)
							}
						}
						inner := func(c Call) error {
							check(c)
							return withoutLock(c)
						}
						SetHook(func(c Call) error {
							check(c)
							n++
							if n == k {
								outer := hook.Load()
								SetHook(inner)
								err := writeSecond("b").in(dir)
								hook.Store(outer)
								isMarked := second == "a file" && errors.Is(err, errMarked) && first == "parts"
								if err != nil && !isMarked {
									t.Errorf("call %d of the first: %v", k, err)
								}
							}
							return withoutLock(c)
						})
						err := writeFirst("a").in(dir)
						SetHook(nil)
						expect.OK(t, err)
						check(Call{Name: "the end"})
						listed, single := models(t, dir)
						if strings.Contains(listed+single, "o") {
							t.Errorf("call %d: the old model is still there: %q, %q", k, listed, single)
						}
						if n < k {
							return
						}
					}
				})
			}
		}
	}
}

// TestOrphans: parts that a killed writer has put in place before it died are removed by the next process, after a day.
func TestOrphans(t *testing.T) {
	const killed = "m-0123456789abcdef-"
	dir := testhost.TempDir(t)
	for range 2 {
		expect.OK(t, toyModel{parts: []string{"a"}}.in(dir))
	}
	old := time.Now().Add(-25 * time.Hour)
	for _, name := range []string{killed + "1", killed + "2", killed + "3", "m-2", "n-0123456789abcdef-1"} {
		mustWrite(t, filepath.Join(dir, name), "left", 0o644)
		if name != killed+"3" {
			expect.OK(t, os.Chtimes(filepath.Join(dir, name), old, old))
		}
	}
	mustWrite(t, filepath.Join(dir, "n.index"), killed+"2", 0o644)
	expect.OK(t, toyModel{parts: []string{"b"}}.in(dir))
	if len(names(t, dir)) != 8 {
		t.Errorf("a process that has replaced the model before has removed some of %q", names(t, dir))
	}
	ForgetSwept()
	expect.OK(t, toyModel{text: "c"}.in(dir))
	expect.Equal(t, []string{"m", killed + "2", killed + "3", "m-2", "n-0123456789abcdef-1", "n.index"}, names(t, dir))
}

// TestKilledFirst: of the parts that a writer has put in place under plain names before it died those are removed, after a day, that
// no index names and that still have their hidden names, which say that a writer made them.
func TestKilledFirst(t *testing.T) {
	testhost.NeedHardLinks(t)
	past := time.Now().Add(-25 * time.Hour)
	// kill has a writer die at a call. What it leaves is a day old, unless isYoung.
	kill := func(t *testing.T, dir string, isYoung bool, last func(c Call) bool, write func() error) {
		isDead := false
		SetHook(func(c Call) error {
			isDead = isDead || last(c)
			if isDead {
				return errInjected
			}
			return nil
		})
		err := write()
		SetHook(nil)
		if err != nil && !errors.Is(err, errInjected) {
			t.Fatal(err)
		}
		for _, name := range names(t, dir) {
			if !isYoung {
				expect.OK(t, os.Chtimes(filepath.Join(dir, name), past, past))
			}
		}
		ForgetSwept()
	}
	hidden := func(dir string) (n int) {
		for _, name := range names(t, dir) {
			if IsHidden(name) {
				n++
			}
		}
		return n
	}
	two := toyModel{parts: []string{"a", "b"}}
	beforeIndex := func(c Call) bool { return c.Name == "rename" && filepath.Base(c.Path) == "m.index" }
	beforeFirst := func(c Call) bool { return c.Name == "link" && filepath.Base(c.Path) == "m-1" }
	for _, tt := range []struct {
		name  string
		prep  func(t *testing.T, dir string)
		next  toyModel
		plain []string // the parts with plain names that are there then
	}{
		{"parts again", nil, two, nil},
		{"a file", nil, toyModel{text: "c"}, nil},
		{"somebody else's file among them", func(t *testing.T, dir string) {
			mustWrite(t, filepath.Join(dir, "m-3"), "mine", 0o644)
			expect.OK(t, os.Chtimes(filepath.Join(dir, "m-3"), past, past))
		}, two, []string{"m-3"}},
		{"an index that lists one", func(t *testing.T, dir string) { mustWrite(t, filepath.Join(dir, "n.index"), "m-2", 0o644) }, two, []string{"m-2"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := testhost.TempDir(t)
			if tt.prep != nil {
				tt.prep(t, dir)
			}
			kill(t, dir, false, beforeIndex, func() error { return two.in(dir) })
			if !exists(filepath.Join(dir, "m-1")) || !exists(filepath.Join(dir, "m-2")) || hidden(dir) < 2 {
				t.Fatalf("the writer left %q", names(t, dir))
			}
			replace(t, filepath.Join(dir, "other"), "x") // a writer of another model knows nothing of them
			expect.OK(t, tt.next.in(dir))
			listed, single := models(t, dir)
			expect.Equal(t, strings.Join(tt.next.parts, "")+tt.next.text, listed+single)
			var plain []string
			for _, name := range names(t, dir) {
				generation, ok := toy{base: "m"}.Generation(name)
				if ok && generation == "" {
					plain = append(plain, name)
				}
			}
			expect.Equal(t, tt.plain, plain)
			if want := len(tt.plain); hidden(dir) > want {
				t.Errorf("left: %q", names(t, dir))
			}
		})
	}
	t.Run("young", func(t *testing.T) {
		dir := testhost.TempDir(t)
		kill(t, dir, true, beforeIndex, func() error { return two.in(dir) })
		expect.OK(t, two.in(dir))
		if !exists(filepath.Join(dir, "m-1")) || !exists(filepath.Join(dir, "m-2")) {
			t.Errorf("parts of a writer that may be alive are removed: %q", names(t, dir))
		}
	})
	t.Run("published", func(t *testing.T) { // and killed before it removed the hidden names
		dir := testhost.TempDir(t)
		kill(t, dir, false, func(c Call) bool { return c.Name == "remove" }, func() error { return two.in(dir) })
		replace(t, filepath.Join(dir, "other"), "x")
		listed, _ := models(t, dir)
		expect.Equal(t, "ab", listed)
		ForgetSwept()
		expect.OK(t, toyModel{text: "c"}.in(dir))
		expect.Equal(t, []string{"m", "other"}, names(t, dir))
	})
	t.Run("split", func(t *testing.T) {
		dir := testhost.TempDir(t)
		kill(t, dir, true, beforeFirst, func() error { return writeSplit(dir, 3) })
		expect.Refused(t, fs.ErrExist, "young")(nil, writeSplit(dir, 3))
		kill(t, dir, false, func(Call) bool { return true }, func() error { return nil })
		mustWrite(t, filepath.Join(dir, "n-2"), "other", 0o644)
		expect.OK(t, writeSplit(dir, 4))
		wantFiles(t, dir, map[string]string{"m-1": "1", "m-2": "2", "m-3": "3", "m-4": "4", "n-2": "other"})
	})
	t.Run("split, published", func(t *testing.T) {
		dir := testhost.TempDir(t)
		kill(t, dir, false, func(c Call) bool { return c.Name == "remove" }, func() error { return writeSplit(dir, 2) })
		expect.Refused(t, fs.ErrExist)(nil, writeSplit(dir, 2))
		for i, name := range []string{"m-1", "m-2"} {
			expect.Equal(t, fmt.Sprint(i+1), string(expect.Read(t, filepath.Join(dir, name))))
		}
	})
}

// TestOldParts: parts that were written long ago count as young when they are put in place, since another process may look
// for orphans.
func TestOldParts(t *testing.T) {
	dir := testhost.TempDir(t)
	m, err := toyModel{parts: []string{"a"}}.begin(dir)
	expect.OK(t, err)
	defer m.Abort()
	past := time.Now().Add(-25 * time.Hour)
	expect.OK(t, os.Chtimes(m.parts[0].Name(), past, past))
	m.parts[0].completed = past
	expect.OK(t, m.Publish())
	info, err := os.Stat(filepath.Join(dir, "m-1"))
	expect.OK(t, err)
	if time.Since(info.ModTime()) > refreshed {
		t.Errorf("the part is of %v", info.ModTime())
	}
}

// TestIndexStays: a directory opens by its index. If it cannot be removed, that is an error.
func TestIndexStays(t *testing.T) {
	dir := testhost.TempDir(t)
	expect.OK(t, toyModel{parts: []string{"a"}}.in(dir))
	SetHook(func(c Call) error {
		if c.Name == "remove" && filepath.Base(c.Path) == "m.index" {
			return errInjected
		}
		return nil
	})
	defer SetHook(nil)
	err := toyModel{text: "b"}.in(dir)
	expect.Refused(t, errInjected)(nil, err)
	if err != nil && !strings.Contains(err.Error(), "opens the old one") {
		t.Errorf("%v does not say what is there", err)
	}
	wantFiles(t, dir, map[string]string{"m": "b", "m-1": "a", "m.index": "m-1"})
}

// TestIrregular: what is no file is not replaced, also the index of a model in one file.
func TestIrregular(t *testing.T) {
	for _, name := range []string{"m", "m.index"} {
		for _, m := range []toyModel{{text: "a"}, {parts: []string{"a"}}} {
			dir := testhost.TempDir(t)
			expect.OK(t, os.Mkdir(filepath.Join(dir, name), 0o755))
			expect.Refused(t, os.ErrInvalid, name)(nil, m.in(dir))
			expect.Equal(t, []string{name}, names(t, dir))
		}
	}
}

// TestManyParts: a writer of n parts makes a number of changes that grows with n, and lists the directory once.
func TestManyParts(t *testing.T) {
	count := func(n int) int {
		dir := testhost.TempDir(t)
		calls := 0
		SetHook(func(Call) error {
			calls++
			return nil
		})
		defer SetHook(nil)
		noSync := func(m *Model) { m.NoSync = true }
		expect.OK(t, toyModel{parts: slices.Repeat([]string{"a"}, n), set: noSync}.in(dir))
		return calls
	}
	few := count(8)
	many := count(80)
	if many > 10*few {
		t.Errorf("%d changes for 8 parts, %d for 80", few, many)
	}
}

// TestLock: a writer that publishes waits for others, but not for ever.
func TestLock(t *testing.T) {
	dir := testhost.TempDir(t)
	unlock := lockDir(dir)
	defer func(old time.Duration) { patience = old }(patience)
	patience = 0
	expect.OK(t, toyModel{text: "a"}.in(dir))
	if lockHere(dir) {
		t.Error("the directory was not locked")
	}
	unlock()
	if !lockHere(dir) {
		t.Error("the directory is still locked")
	}
	locked.dirs = map[string]bool{}
}
