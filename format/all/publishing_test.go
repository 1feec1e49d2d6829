package all_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/onnx"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/disk"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/internal/testhost"
	"github.com/weightmap/weightmap/tensor"
	"github.com/weightmap/weightmap/tsr"
	"github.com/weightmap/weightmap/wia"
)

// What is tested here is the promise of models of several files: whatever fails, and whenever a writer dies or another one
// writes, each door to the model shows the old one or the new one, whole, and one of them does.

// kind is a way to write a model at the path of its family.
type kind struct {
	name  string
	write func(path string, p *schema.Schema) (*format.Writer, error)
	door  string // what opens it, relative to the directory; "*" stands for digits
	once  bool   // it is not written over one of its kind
}

// family is kinds of models that replace each other.
type family struct {
	name  string
	file  string // the path that they are written to
	isDir bool   // the directory is a door too
	kinds []kind
	// isExclusive means that none of the kinds is written over another one.
	isExclusive bool
}

func families() []family {
	sharded := func(name string) func(string, *schema.Schema) (*format.Writer, error) {
		return func(path string, p *schema.Schema) (*format.Writer, error) {
			return format.Create(path, p, &format.WriteOptions{MaxShard: 1, Format: formatNamed(name)})
		}
	}
	alone := func(path string, p *schema.Schema) (*format.Writer, error) { return format.Create(path, p, nil) }
	return []family{
		{"safetensors", "model.safetensors", true, []kind{
			{"file", alone, "model.safetensors", false},
			{"shards", sharded("safetensors"), "model.safetensors.index.json", false},
		}, false},
		{"safetensors of another name", "other.safetensors", true, []kind{
			{"file", alone, "other.safetensors", false},
			{"shards", sharded("safetensors"), "other.safetensors.index.json", false},
		}, false},
		{"onnx", "model.onnx", true, []kind{
			{"file", alone, "model.onnx", false},
			{"external", func(path string, p *schema.Schema) (*format.Writer, error) {
				return format.Create(path, p, &format.WriteOptions{ExternalFrom: 1, Format: onnx.Format{}})
			}, "model.onnx", false},
		}, false},
		{"wia", "m.wia", true, []kind{
			{"file", alone, "m.wia", false},
			{"external", func(path string, p *schema.Schema) (*format.Writer, error) {
				return format.Create(path, p, &format.WriteOptions{ExternalFrom: 1, Format: wia.Format{}})
			}, "m.wia", false},
			{"external below", func(path string, p *schema.Schema) (*format.Writer, error) {
				return format.Create(path, p, &format.WriteOptions{ExternalFrom: 1, External: "data/all", Format: wia.Format{}})
			}, "m.wia", false},
		}, false},
		{"gguf", "m.gguf", true, []kind{
			{"file", alone, "m.gguf", false},
			{"split", sharded("gguf"), "m-00001-of-*.gguf", true},
		}, true},
		{"tsr", "m", false, []kind{
			{"directory", func(path string, p *schema.Schema) (*format.Writer, error) {
				return format.Create(path+"/", p, &format.WriteOptions{Format: tsr.Format{}})
			}, "m", true},
		}, false},
	}
}

// edition is a model: its generation is each of its values, and its size the number of its tensors.
type edition struct{ Generation, Size int }

var none edition

// write writes an edition of a kind into a directory.
func (f *family) write(k *kind, dir string, v edition) error {
	p := &schema.Schema{}
	for i := range v.Size {
		p.Tensors = append(p.Tensors, list(tensor.Float32, fmt.Sprint("t", i), 8))
	}
	w, err := k.write(filepath.Join(dir, f.file), p)
	if err != nil {
		return err
	}
	defer w.Abort()
	value := binary.LittleEndian.AppendUint32(nil, math.Float32bits(float32(v.Generation)))
	for _, t := range slices.Backward(p.Tensors) {
		if err := w.WriteTensor(t.Name, bytes.NewReader(bytes.Repeat(value, 8))); err != nil {
			return err
		}
	}
	return w.Close()
}

// doors returns the paths that may open a model in a directory.
func (f *family) doors(dir string) (paths []string) {
	if f.isDir {
		paths = append(paths, dir)
	}
	for _, k := range f.kinds {
		found, err := filepath.Glob(filepath.Join(dir, k.door))
		if err != nil {
			panic(err)
		}
		for _, path := range found {
			if !slices.Contains(paths, path) {
				paths = append(paths, path)
			}
		}
	}
	return paths
}

// read returns the edition that a path opens.
func read(path string) (edition, error) {
	m, err := format.Open(path, nil)
	if err != nil {
		return none, err
	}
	defer m.Close()
	if _, err := m.Verify(context.Background(), nil); err != nil {
		return none, err
	}
	v := edition{Size: m.Len()}
	for name, view := range m.Tensors() {
		values, err := tensor.Decode[float32](nil, view)
		if err != nil {
			return none, err
		}
		for _, x := range values {
			if v.Generation == 0 {
				v.Generation = int(x)
			}
			if int(x) != v.Generation {
				return none, fmt.Errorf("a mixture: tensor %s is of generation %v, others of %d", name, x, v.Generation)
			}
		}
	}
	return v, nil
}

// look returns what each door of a directory opens, by name.
func (f *family) look(t testing.TB, dir string) (map[string]edition, error) {
	testhost.RoundTimes(t, dir)
	found := map[string]edition{}
	paths := f.doors(dir)
	for _, path := range paths {
		v, err := read(path)
		if err != nil && path == dir && len(paths) == 1 {
			continue // there is no model
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", filepath.Base(path), err)
		}
		name := filepath.Base(path)
		if path == dir {
			name = "."
		}
		found[name] = v
	}
	return found, nil
}

// wantOneOf demands that each door opens one of the editions, and that one does unless none is among the versions.
func (f *family) wantOneOf(t testing.TB, dir, when string, want ...edition) map[string]edition {
	t.Helper()
	found, err := f.look(t, dir)
	if err != nil {
		t.Errorf("%s: %v\nin %q", when, err, names(t.(*testing.T), dir))
		return nil
	}
	for door, v := range found {
		if !slices.Contains(want, v) {
			t.Errorf("%s: %s opens %v, want one of %v", when, door, v, want)
		}
	}
	if len(found) == 0 && !slices.Contains(want, none) {
		t.Errorf("%s: there is no model in %q", when, names(t.(*testing.T), dir))
	}
	return found
}

// replacement is an edition that replaces another one, or none.
type replacement struct {
	*family
	from, to *kind // from is nil for none
	old, new edition
}

func (r *replacement) String() string {
	if r.from == nil {
		return fmt.Sprintf("%s/%s over none", r.name, r.to.name)
	}
	return fmt.Sprintf("%s/%s over %s of %d", r.name, r.to.name, r.from.name, r.old.Size)
}

// isRefused reports whether the new edition is not written over the old one.
func (r *replacement) isRefused() bool {
	if r.from == nil {
		return false
	}
	return r.to.once && r.from.name == r.to.name || r.isExclusive && r.from.name != r.to.name
}

// prepare returns a directory with the old edition.
func (r *replacement) prepare(t testing.TB) string {
	t.Helper()
	dir := testhost.FastDir(t)
	if r.from != nil {
		expect.OK(t, r.write(r.from, dir, r.old))
	}
	return dir
}

// replacements returns each kind over each other one of its family, of as many tensors, or with WEIGHTMAP_NIGHTLY also of less and more.
func replacements() []*replacement {
	if testhost.Nightly() {
		return replacementsOf(2, 3, 5)
	}
	return replacementsOf(3)
}

// replacementsOf returns replacements of models of these numbers of tensors by models of three.
func replacementsOf(sizes ...int) (all []*replacement) {
	fresh := edition{2, 3}
	for _, f := range families() {
		for i := range f.kinds {
			to := &f.kinds[i]
			all = append(all, &replacement{&f, nil, to, none, fresh})
			for k := range f.kinds {
				for _, size := range sizes {
					all = append(all, &replacement{&f, &f.kinds[k], to, edition{1, size}, fresh})
				}
			}
		}
	}
	return all
}

// TestPublishing opens the model before each change that a writer makes: it is the old one, then the new one. What is
// replaced is gone in the end.
func TestPublishing(t *testing.T) {
	for _, r := range replacementsOf(2, 3, 5) {
		t.Run(r.String(), func(t *testing.T) {
			dir := r.prepare(t)
			before := names(t, dir)
			disk.SetHook(func(c disk.Call) error {
				r.wantOneOf(t, dir, "before "+c.Name, r.old, r.new)
				return nil
			})
			err := r.write(r.to, dir, r.new)
			disk.SetHook(nil)
			if r.isRefused() {
				expect.Refused(t, fs.ErrExist)(nil, err)
				r.wantOneOf(t, dir, "refused", r.old)
				expect.Equal(t, before, names(t, dir))
				return
			}
			expect.OK(t, err)
			r.wantOneOf(t, dir, "at the end", r.new)
			r.wantTidy(t, dir, "at the end", false)
		})
	}
}

// wantTidy demands that a directory has no files but those of the model, and of external data with another name. mayStay
// means that parts with plain names may be left: those of a model that was replaced, whose index is gone, might be anybody's.
func (r *replacement) wantTidy(t *testing.T, dir, when string, mayStay bool) {
	t.Helper()
	used := map[string]bool{}
	for _, path := range r.doors(dir) {
		m, err := format.Open(path, nil)
		expect.OK(t, err)
		for _, file := range append(m.Files(), path) {
			name, err := filepath.Rel(dir, file)
			expect.OK(t, err)
			used[strings.Split(filepath.ToSlash(name), "/")[0]] = true
		}
		expect.OK(t, m.Close())
	}
	for _, name := range names(t, dir) {
		isPlain := regexp.MustCompile(`^(model|other|m)-\d{5}-of-\d{5}\.`).MatchString(name)
		isOther := r.from != nil && (strings.HasSuffix(r.from.name, "below") != strings.HasSuffix(r.to.name, "below")) && (name == "data" || strings.HasSuffix(name, ".data"))
		if !used[name] && !(isPlain && mayStay) && !isOther {
			t.Errorf("%s: %s is left", when, name)
		}
	}
}

// TestPublishingRead has a reader open all doors in a loop while a writer replaces the model, by each kind in turn, less, as much and
// more. The reader finds one of the editions, whole.
func TestPublishingRead(t *testing.T) {
	for _, f := range families() {
		if slices.ContainsFunc(f.kinds, func(k kind) bool { return k.once }) {
			continue
		}
		t.Run(f.name, func(t *testing.T) {
			dir := testhost.FastDir(t)
			var all []edition
			for n := range 4 * len(f.kinds) {
				all = append(all, edition{1 + n, 2 + (n+n/len(f.kinds))%3})
			}
			expect.OK(t, f.write(&f.kinds[0], dir, all[0]))
			reader := f.startReader(t, dir, all...)
			for n, v := range all[1:] {
				before := reader.n.Load()
				expect.OK(t, f.write(&f.kinds[n%len(f.kinds)], dir, v))
				for reader.n.Load() == before && !t.Failed() {
					time.Sleep(time.Millisecond)
				}
			}
			reader.opened()
			f.wantOneOf(t, dir, "at the end", all[len(all)-1])
		})
	}
}

// TestHostileOldIndex: an old index that lists files of others, by a neighbor's names, by paths, or those that another index lists too,
// does not make a writer remove them.
func TestHostileOldIndex(t *testing.T) {
	const own, shared = "model-00001-of-00003.safetensors", "model-00003-of-00003.safetensors"
	others := map[string]string{
		shared:                                 safe("c"),
		"neighbor-00001-of-00002.safetensors":  safe("b"),
		"neighbor.safetensors":                 safe("b"),
		"config.json":                          "{}",
		"sub/model-00002-of-00003.safetensors": safe("b"),
		"../model-00002-of-00003.safetensors":  safe("b"),
		"other.safetensors.index.json":         index("c", shared),
	}
	for listed := range others {
		for _, shard := range []int64{0, 1} {
			dir := filepath.Join(t.TempDir(), "d")
			lay(t, dir, others)
			lay(t, dir, map[string]string{own: safe("a"), "model.safetensors.index.json": index("a", own, "b", listed)})
			p := &schema.Schema{Tensors: []tensor.Info{list(tensor.Float32, "x", 4), list(tensor.Float32, "y", 4)}}
			expect.OK(t, create("", filepath.Join(dir, "model.safetensors"), p, &format.WriteOptions{MaxShard: shard}))
			_, err := os.Stat(filepath.Join(dir, own))
			if !errors.Is(err, fs.ErrNotExist) && !strings.HasPrefix(listed, "../") { // such an index lists nothing
				t.Errorf("%s is listed: the old shard is still there: %v", listed, err)
			}
			for name, content := range others {
				expect.Equal(t, content, string(expect.Read(t, filepath.Join(dir, name))))
			}
			expect.Equal(t, 2, open(t, dir, nil).Len())
		}
	}
}

// TestPublishingFails makes each change of a writer fail, alone, or with all that follow as if the process had died. A
// later process tidies up.
func TestPublishingFails(t *testing.T) {
	for _, r := range replacements() {
		if r.isRefused() {
			continue
		}
		t.Run(r.String(), func(t *testing.T) {
			for _, dies := range []bool{false, true} {
				k := 1
				for ; r.fails(t, k, dies); k++ {
				}
				if k < 7 {
					t.Errorf("only %d calls could fail", k-1)
				}
			}
		})
	}
}

// harmless are the changes without which a writer goes on.
var harmless = []string{"lock", "wait", "mark", "link", "inherit", "remove"}

// fails makes call k fail, and reports whether there is such a call.
func (r *replacement) fails(t *testing.T, k int, dies bool) bool {
	t.Helper()
	dir := r.prepare(t)
	open := testhost.OpenFiles()
	n := 0
	failed := ""
	disk.SetHook(func(c disk.Call) error {
		n++
		if n < k || n > k && !dies {
			return nil
		}
		if failed == "" {
			failed = c.Name
		}
		return errInjected
	})
	err := r.write(r.to, dir, r.new)
	disk.SetHook(nil)
	if failed == "" {
		expect.OK(t, err)
		return false
	}
	when := fmt.Sprintf("call %d (%s) failed", k, failed)
	if dies {
		when += ", and all after it"
	}
	now := testhost.OpenFiles()
	if len(now) > len(open) {
		t.Errorf("%s: open are %q, were %q", when, now, open)
	}
	found := r.wantOneOf(t, dir, when, r.old, r.new)
	isNew := false
	for _, v := range found {
		isNew = isNew || v == r.new
	}
	switch {
	case err == nil:
		// An old file that could not be removed, or not renamed, stays.
		if !isNew || !slices.Contains(harmless, failed) && failed != "rename" {
			t.Errorf("%s: no error, and there is %v", when, found)
		}
	case !errors.Is(err, errInjected):
		t.Errorf("%s: %v hides the cause", when, err)
	case errors.Is(err, format.ErrNotDurable) && !isNew:
		t.Errorf("%s: %v, and there is %v", when, err, found)
	case dies && r.from == nil: // parts that are all there are a model, without an index too
	case !errors.Is(err, format.ErrNotDurable) && !strings.Contains(err.Error(), "opens the old one") && isNew:
		t.Errorf("%s: %v, and there is %v", when, err, found)
	}
	r.recover(t, dir, when)
	return true
}

// recover writes another edition, a day later and in another process, as far as that is possible.
func (r *replacement) recover(t *testing.T, dir, when string) {
	t.Helper()
	past := time.Now().Add(-25 * time.Hour)
	expect.OK(t, filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Chtimes(path, past, past)
	}))
	disk.ForgetSwept()
	next := edition{3, 3}
	err := r.write(r.to, dir, next)
	if r.to.once && errors.Is(err, fs.ErrExist) {
		r.wantOneOf(t, dir, when+", refused", r.old, r.new, none)
		return
	}
	expect.OK(t, err)
	r.wantOneOf(t, dir, when+", after writing again", next)
	r.wantTidy(t, dir, when+", after writing again", r.from != nil)
}

// withoutLock is a file system without locks, as between processes on some network file systems. No writer waits there.
func withoutLock(c disk.Call) error {
	if c.Name == "lock" || c.Name == "wait" {
		return errInjected
	}
	return nil
}

// TestPublishingTwo has a second writer write its whole model before each change that the first makes, without the lock.
// Then the first one goes on, or dies.
func TestPublishingTwo(t *testing.T) {
	for _, f := range families() {
		if !testhost.Nightly() {
			f.kinds = f.kinds[:min(2, len(f.kinds))]
		}
		for o := range f.kinds {
			for a := range f.kinds {
				for b := range f.kinds {
					first := &replacement{&f, &f.kinds[o], &f.kinds[a], edition{1, 2}, edition{2, 2}}
					second := &f.kinds[b]
					if first.isRefused() {
						continue
					}
					t.Run(fmt.Sprintf("%v, and %s", first, second.name), func(t *testing.T) {
						for k := 1; first.meets(t, second, k, false); k++ {
							first.meets(t, second, k, true)
						}
					})
				}
			}
		}
	}
}

// isMarked reports whether a writer has left an index since another one may be about to remove the file that it wrote.
func isMarked(err error) bool { return err != nil && strings.Contains(err.Error(), "has not finished") }

// meets has the second writer write before call k of the first, and reports whether there is such a call.
func (r *replacement) meets(t *testing.T, second *kind, k int, dies bool) bool {
	t.Helper()
	dir := r.prepare(t)
	other := edition{3, 3}
	when := fmt.Sprintf("before call %d", k)
	n := 0
	var secondErr error
	isSecond := false
	disk.SetHook(func(c disk.Call) error {
		if isSecond {
			return withoutLock(c)
		}
		n++
		if n == k {
			isSecond = true
			secondErr = r.write(second, dir, other)
			isSecond = false
			r.wantOneOf(t, dir, when+" ("+c.Name+")", r.old, r.new, other)
		}
		if dies && n >= k {
			return errInjected
		}
		return withoutLock(c)
	})
	firstErr := r.write(r.to, dir, r.new)
	disk.SetHook(nil)
	if n < k {
		return false
	}
	if secondErr != nil && !errors.Is(secondErr, fs.ErrExist) && !isMarked(secondErr) {
		t.Errorf("%s: the second: %v", when, secondErr)
	}
	if firstErr != nil && !dies && !errors.Is(firstErr, fs.ErrExist) && !isMarked(firstErr) {
		t.Errorf("%s: the first: %v", when, firstErr)
	}
	want := []edition{r.new, other}
	if dies || secondErr != nil {
		want = append(want, r.old)
	}
	r.wantOneOf(t, dir, when+", at the end", want...)
	return true
}

// looper opens a model in a loop.
type looper struct {
	stop    chan struct{}
	done    sync.WaitGroup
	n       atomic.Int64
	changed int // the model was replaced each time that opening started over
}

// startReader opens each door of a directory in a loop, and demands one of the editions.
func (f *family) startReader(t *testing.T, dir string, want ...edition) *looper {
	l := &looper{stop: make(chan struct{})}
	l.done.Go(func() {
		for {
			select {
			case <-l.stop:
				return
			default:
			}
			isThere := false
			for _, path := range f.doors(dir) {
				v, err := read(path)
				switch {
				case errors.Is(err, format.ErrChanged):
					l.changed++
					isThere = true
				case errors.Is(err, fs.ErrNotExist): // this door was closed since the directory was listed
				case err != nil:
					t.Errorf("reader: %s: %v", strings.TrimPrefix(path, dir), err)
					return
				default:
					l.n.Add(1)
					isThere = true
					if !slices.Contains(want, v) {
						t.Errorf("reader: %s opens %v", path, v)
						return
					}
				}
			}
			if !isThere && f.isDir {
				t.Errorf("reader: there is no model")
				return
			}
		}
	})
	return l
}

// opened stops the reader and returns how often it has opened a model.
func (l *looper) opened() int64 {
	close(l.stop)
	l.done.Wait()
	return l.n.Load()
}
