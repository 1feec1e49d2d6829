package all_test

import (
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/weightmap/weightmap/internal/disk"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/internal/testhost"
)

// TestPowerCut cuts the power after each change that a writer makes. What was synced is there afterwards: the content of a
// file by its own sync, names by that of their directory. Of the other changes of names any may be there, and content
// that was not synced is lost. There is the old model or the new one, and once Close has returned the new one.
func TestPowerCut(t *testing.T) {
	for _, r := range replacements() {
		if r.isRefused() {
			continue
		}
		t.Run(r.String(), func(t *testing.T) {
			dir := r.prepare(t)
			d := newPlatter(t, dir)
			disk.SetHook(func(c disk.Call) error {
				d.next()
				d.check(t, r, "before "+c.Name, r.old, r.new)
				d.record(t, c)
				return nil
			})
			err := r.write(r.to, dir, r.new)
			disk.SetHook(nil)
			expect.OK(t, err)
			d.next()
			d.check(t, r, "after Close", r.new)
			if len(d.seen) < 5 {
				t.Errorf("there were only %d states", len(d.seen))
			}
		})
	}
}

// inode is a file or a directory of a platter.
type inode struct {
	isDir   bool
	content string // that is durable
}

// change is a change of names.
type change struct {
	dir      string // the directory to sync
	from, to string // of a rename; of others one is ""
	file     *inode // that to becomes
}

// platter is a simulated disk below a directory. Names are relative to it.
type platter struct {
	top     string
	names   map[string]*inode // as programs see them
	durable map[string]*inode
	pending []change
	waiting func()          // what the change does that was announced last
	seen    map[uint64]bool // states that were checked
}

func newPlatter(t *testing.T, dir string) *platter {
	d := &platter{top: dir, names: map[string]*inode{}, waiting: func() {}, seen: map[uint64]bool{}}
	expect.OK(t, filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		if e.IsDir() {
			d.names[d.name(path)] = &inode{isDir: true}
			return nil
		}
		b, err := os.ReadFile(path)
		d.names[d.name(path)] = &inode{content: string(b)}
		return err
	}))
	d.durable = maps.Clone(d.names)
	return d
}

func (d *platter) name(path string) string {
	return filepath.ToSlash(strings.TrimPrefix(strings.TrimPrefix(path, d.top), string(filepath.Separator)))
}

// record notes a change that is about to be made.
func (d *platter) record(t *testing.T, c disk.Call) {
	to := d.name(c.Path)
	from := d.name(c.From)
	in := filepath.ToSlash(filepath.Dir(to))
	switch c.Name {
	case "create", "mark":
		d.waiting = func() { d.alter(change{dir: in, to: to, file: &inode{}}) }
	case "mkdir":
		d.waiting = func() { d.alter(change{dir: in, to: to, file: &inode{isDir: true}}) }
	case "link":
		if d.names[to] == nil {
			d.waiting = func() { d.alter(change{dir: in, to: to, file: d.names[from]}) }
		}
	case "rename":
		d.waiting = func() { d.alter(change{dir: in, from: from, to: to, file: d.names[from]}) }
	case "remove":
		d.waiting = func() { d.alter(change{dir: in, from: to}) }
	case "sync":
		b, err := os.ReadFile(c.Path)
		expect.OK(t, err)
		file := d.names[to]
		d.waiting = func() { file.content = string(b) }
	case "sync directory":
		d.waiting = func() { d.sync(to) }
	}
}

// next makes the change that was recorded.
func (d *platter) next() {
	d.waiting()
	d.waiting = func() {}
}

func (d *platter) alter(c change) {
	c.apply(d.names)
	d.pending = append(d.pending, c)
}

// apply changes names. A directory takes along what is in it.
func (c change) apply(names map[string]*inode) {
	if c.from != "" {
		delete(names, c.from)
	}
	if c.to == "" {
		return
	}
	names[c.to] = c.file
	if c.from == "" || !c.file.isDir {
		return
	}
	for name, file := range maps.Clone(names) {
		rest, ok := strings.CutPrefix(name, c.from+"/")
		if ok {
			delete(names, name)
			names[c.to+"/"+rest] = file
		}
	}
}

// sync makes the changes of a directory durable.
func (d *platter) sync(dir string) {
	if dir == "" {
		dir = "."
	}
	d.pending = slices.DeleteFunc(d.pending, func(c change) bool {
		if c.dir == dir {
			c.apply(d.durable)
		}
		return c.dir == dir
	})
}

// check opens the model in each state in which the disk may be after a power cut: with none, all, one, all but one, and
// the first ones of the changes of names that are not durable.
func (d *platter) check(t *testing.T, r *replacement, when string, want ...edition) {
	t.Helper()
	n := len(d.pending)
	var sets [][]change
	for i := range n + 1 {
		sets = append(sets, d.pending[:i])
	}
	for i := range n {
		sets = append(sets, d.pending[i:i+1], slices.Concat(d.pending[:i], d.pending[i+1:]))
	}
	for _, set := range sets {
		names := maps.Clone(d.durable)
		for _, c := range set {
			c.apply(names)
		}
		d.checkState(t, r, fmt.Sprintf("%s, with %d of %d changes", when, len(set), n), names, want)
	}
}

func (d *platter) checkState(t *testing.T, r *replacement, when string, names map[string]*inode, want []edition) {
	t.Helper()
	h := fnv.New64a()
	fmt.Fprintln(h, want)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		fmt.Fprintln(h, name, names[name].content)
	}
	if d.seen[h.Sum64()] {
		return
	}
	d.seen[h.Sum64()] = true
	dir := testhost.FastDir(t)
	defer os.RemoveAll(dir)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if names[name].isDir {
			expect.OK(t, os.Mkdir(path, 0o755))
			continue
		}
		err := os.WriteFile(path, []byte(names[name].content), 0o644)
		if !errors.Is(err, fs.ErrNotExist) { // its directory is lost
			expect.OK(t, err)
		}
	}
	r.wantOneOf(t, dir, when, want...)
}
