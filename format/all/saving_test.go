package all_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/convert"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/disk"
	"github.com/weightmap/weightmap/internal/testhost"
	"github.com/weightmap/weightmap/mag"
	"github.com/weightmap/weightmap/mle"
	"github.com/weightmap/weightmap/mobi"
	"github.com/weightmap/weightmap/tensor"
	"github.com/weightmap/weightmap/tsr"
	"github.com/weightmap/weightmap/wia"
)

// What is tested here is the promise of all writers: whatever fails, and whenever the
// process dies, there is the old model or the new one, and once another was written
// nothing else. Package disk tells of every call that changes something in the file system. Models of several files
// are tested in publishing_test.go.

// saving is a way to replace a model by another.
type saving struct {
	name string
	file string // the target
	// save replaces what is at path by the old model (0) or the new one (1).
	save func(path string, n int) error
	// onlyNew says that an old model is refused.
	onlyNew bool
	// inPlace says that the new model is made of the old one.
	inPlace bool
}

// hook asks f before each call.
func (s *saving) hook(f func(disk.Call) error) {
	var mu sync.Mutex
	disk.SetHook(func(c disk.Call) error {
		mu.Lock()
		defer mu.Unlock()
		return f(c)
	})
}

// run replaces the model at path, as on the system that s is about.
func (s *saving) run(path string, n int) error {
	s.hook(func(disk.Call) error { return nil })
	defer disk.SetHook(nil)
	return s.save(path, n)
}

// models are the schemas of the old and the new model, with other shapes. The first
// tensor alone makes a model too.
func schemas(n, count int) *schema.Schema {
	size := int64(3 + 2*n)
	all := []tensor.Info{list(tensor.Float32, "1", size, 2), list(tensor.Float32, "2", size)}
	return &schema.Schema{Tensors: all[:count]}
}

// fed has a writer write a model, the last tensor first.
func fed(p *schema.Schema, n int, w *format.Writer, err error) error {
	if err != nil {
		return err
	}
	defer w.Abort()
	for _, t := range slices.Backward(p.Tensors) {
		elems, _ := t.Shape.Elems()
		var b []byte
		for i := range elems {
			b = binary.LittleEndian.AppendUint32(b, math.Float32bits(float32(int(i)+10*n)/4))
		}
		if err := w.WriteTensor(t.Name, bytes.NewReader(b)); err != nil {
			return err
		}
	}
	return w.Close()
}

// saves makes a saving of a function that creates a model of some tensors; the first has more rows.
func saves(tensors int, more int64, o *format.WriteOptions) func(string, int) error {
	return func(path string, n int) error {
		p := schemas(n, tensors)
		p.Tensors[0].Shape[0] += more
		w, err := format.Create(path, p, o)
		return fed(p, n, w, err)
	}
}

// written makes a saving of two tensors.
func written(o *format.WriteOptions) func(string, int) error {
	return saves(2, 0, o)
}

// over makes a saving that first writes the old model and then has it rewritten in place.
func over(old func(string, int) error, rewrite func(path string) error) func(string, int) error {
	return func(path string, n int) error {
		if n == 0 {
			return old(path, 0)
		}
		return rewrite(path)
	}
}

// onto converts a model onto itself.
func onto(path string, o convert.Options) error {
	o.DType = tensor.Float16
	_, err := convert.File(context.Background(), path, path, &o)
	return err
}

var signer = ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))

// at makes encodings that record the time the same every time.
var at = time.Unix(1_700_000_000, 0)

func savings() []saving {
	directory := written(&format.WriteOptions{Format: tsr.Format{}}) // for several tensors
	plainMLE := written(&format.WriteOptions{Time: at, Format: mle.Format{}})
	return []saving{
		{name: "mobi", file: "m.mobi", save: written(&format.WriteOptions{Time: at, Format: mobi.Format{}})},
		{name: "mobi gzip", file: "m.mobi", save: written(&format.WriteOptions{Time: at, Compression: "gzip", Level: 6, Format: mobi.Format{}})},
		{name: "mag", file: "m.mag", save: written(nil)},
		// More data than are collected before the first are written.
		{name: "mag big", file: "m.mag", save: saves(2, 50_000, nil)},
		{name: "mag snapshot", file: "m.mag", save: written(&format.WriteOptions{Format: mag.Format{Snapshot: true}})},
		{name: "tsr", file: "m.tsr", save: saves(1, 0, nil)},
		{name: "tsr directory", file: "m", save: directory, onlyNew: true},
		{name: "mle", file: "m.mle", save: plainMLE},
		{name: "mle 1", file: "m.mle", save: written(&format.WriteOptions{Format: mle.Format{Version: 1}})},
		{name: "mle zstd chunks", file: "m.mle", save: written(&format.WriteOptions{Time: at, Compression: "zstd", Format: mle.Format{Chunked: true}})},
		{name: "mle int8", file: "m.mle", save: written(&format.WriteOptions{Time: at, Format: mle.Format{Lossy: mle.MethodInt8}})},
		{name: "mle signed", file: "m.mle", save: written(&format.WriteOptions{Time: at, Signer: signer, Format: mle.Format{}})},
		{name: "mle.Sign", file: "m.mle", inPlace: true, save: over(plainMLE, func(path string) error {
			return mle.Sign(path, signer, &mle.SignOptions{Time: at})
		})},
		{name: "wia", file: "m.wia", save: written(nil)},
		{name: "wia gzip", file: "m.wia", save: written(&format.WriteOptions{Time: at, Format: wia.Format{CompressTensor: func(tensor.Info) wia.Compression { return wia.Gzip }}})},
		{name: "safetensors", file: "m.safetensors", save: written(nil)},
		{name: "gguf", file: "m.gguf", save: written(nil)},
		{name: "npy", file: "1.npy", save: saves(1, 0, nil)},
		{name: "npz", file: "m.npz", save: written(nil)},
		{name: "onnx", file: "m.onnx", save: written(nil)},
		{name: "convert onto itself", file: "m.mag", inPlace: true, save: over(written(nil), func(path string) error {
			return onto(path, convert.Options{})
		})},
	}
}

// contents is all that a model says, "" if there is none.
func contents(path string) (string, error) {
	m, err := format.Open(path, nil)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	defer m.Close()
	if _, err := m.Verify(context.Background(), nil); err != nil {
		return "", err
	}
	var all strings.Builder
	fmt.Fprintln(&all, m.Format(), m.Signature() != nil)
	for name, v := range m.Tensors() {
		c, err := v.Clone()
		if err != nil {
			return "", err
		}
		b, err := c.Bytes()
		if err != nil {
			return "", err
		}
		info := v.Info()
		fmt.Fprintln(&all, name, info.TypeName(), info.Shape, info.Compression, b)
	}
	return all.String(), nil
}

// outcome is what a directory holds: all names in it, and what its model says.
type outcome struct {
	Names []string
	Model string
}

func (s *saving) look(t testing.TB, dir string) (o outcome, err error) {
	testhost.RoundTimes(t, dir)
	err = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if path != dir {
			o.Names = append(o.Names, strings.TrimPrefix(filepath.ToSlash(path), filepath.ToSlash(dir)+"/"))
		}
		return err
	})
	if err != nil {
		return o, err
	}
	o.Model, err = contents(filepath.Join(dir, s.file))
	return o, err
}

// stage is the ground of the tests of one saving: a directory with the old model, and
// what must come of it.
type stage struct {
	*saving
	t   testing.TB
	dir string // with the old model
	old outcome
	new outcome
}

// newStage makes one without an old model if the new one is the first.
func newStage(t testing.TB, s *saving, first bool) *stage {
	t.Helper()
	t.Setenv("TMPDIR", t.TempDir()) // a process that is killed may leave a file there
	g := &stage{saving: s, t: t}
	g.dir = g.fresh()
	if !first {
		g.old = g.after(g.dir, 0)
	}
	g.new = g.after(g.copied(), 1)
	if g.new.Model == "" || g.old.Model == g.new.Model {
		t.Fatalf("the models do not differ: %q and %q", g.old.Model, g.new.Model)
	}
	return g
}

// after replaces the model and returns what is there then.
func (g *stage) after(dir string, n int) outcome {
	g.t.Helper()
	if err := g.run(filepath.Join(dir, g.file), n); err != nil {
		g.t.Fatal(err)
	}
	return g.found(dir)
}

func (g *stage) found(dir string) outcome {
	g.t.Helper()
	o, err := g.look(g.t, dir)
	if err != nil {
		g.t.Fatalf("the model does not open: %v", err)
	}
	return o
}

// fresh returns a directory.
func (g *stage) fresh() string {
	g.t.Helper()
	return testhost.FastDir(g.t)
}

// copied returns a directory with the old model.
func (g *stage) copied() string {
	g.t.Helper()
	dir := g.fresh()
	if err := os.CopyFS(dir, os.DirFS(g.dir)); err != nil {
		g.t.Fatal(err)
	}
	testhost.RoundTimes(g.t, dir)
	return dir
}

// whole demands the old or the new model of a directory, and returns what there is.
func (g *stage) whole(dir, when string) outcome {
	g.t.Helper()
	o, err := g.look(g.t, dir)
	if err != nil || o.Model != g.old.Model && o.Model != g.new.Model {
		g.t.Errorf("%s: neither the old model nor the new one: %q, %v\nin %q", when, o.Model, err, o.Names)
	}
	return o
}

// tidy saves once more, a day later, and demands the new model and nothing else.
func (g *stage) tidy(dir, when string) {
	g.t.Helper()
	if o := g.found(dir); cmp.Equal(o, g.old) || cmp.Equal(o, g.new) {
		return // as if nothing had happened
	}
	past := time.Now().Add(-25 * time.Hour)
	entries, err := filepath.Glob(filepath.Join(dir, "*", ".*"))
	hidden, _ := filepath.Glob(filepath.Join(dir, ".*"))
	inside, _ := filepath.Glob(filepath.Join(dir, ".*", "*"))
	for _, e := range slices.Concat(entries, inside, hidden) {
		if err == nil {
			err = os.Chtimes(e, past, past)
		}
	}
	if err == nil {
		disk.ForgetSwept()
		err = g.run(filepath.Join(dir, g.file), 1)
	}
	if err != nil {
		g.t.Errorf("%s: saving again: %v", when, err)
		return
	}
	after := g.found(dir)
	if d := cmp.Diff(g.new, after); d != "" {
		g.t.Errorf("%s: after saving again (-want +got)\n%s", when, d)
	}
}

var errInjected = errors.New("injected")

// TestSavingFails makes each call of each writer fail, alone or with all that follow, with
// an old model in the place and without.
func TestSavingFails(t *testing.T) {
	for _, s := range savings() {
		t.Run(s.name, func(t *testing.T) {
			for _, first := range []bool{false, true} {
				if first && s.inPlace || !first && s.onlyNew {
					continue
				}
				g := newStage(t, &s, first)
				for _, forever := range []bool{false, true} {
					k := 1
					for ; g.fails(k, forever); k++ {
					}
					if k < 7 {
						t.Errorf("only %d calls could fail", k-1)
					}
				}
			}
		})
	}
}

// fails makes call k fail, and reports whether there is such a call.
func (g *stage) fails(k int, forever bool) bool {
	g.t.Helper()
	dir := g.copied()
	n, failed := 0, ""
	harmless := true // of what failed, that it does not matter to the model
	g.hook(func(c disk.Call) error {
		if n++; n < k || n > k && !forever {
			return nil
		}
		if failed == "" {
			failed = c.Name
		}
		spool := strings.HasSuffix(c.Path, ".spool") && c.Name == "close" // which was read already
		harmless = harmless && (c.Name == "remove" || c.Name == "inherit" || c.Name == "lock" || c.Name == "wait" || c.Name == "mark" || spool)
		return errInjected
	})
	open := testhost.OpenFiles()
	err := g.save(filepath.Join(dir, g.file), 1)
	disk.SetHook(nil)
	if now := testhost.OpenFiles(); len(now) > len(open) {
		g.t.Errorf("call %d (%s) failed: open are %q, were %q", k, failed, now, open)
	}
	if failed == "" {
		if err != nil {
			g.t.Errorf("nothing failed but %v", err)
		}
		return false
	}
	when := fmt.Sprintf("call %d (%s) failed", k, failed)
	if forever {
		when += ", and all after it"
	}
	switch {
	case err == nil && !harmless:
		g.t.Errorf("%s, and nobody said so", when)
	case err != nil && !errors.Is(err, errInjected):
		g.t.Errorf("%s: %v hides the cause", when, err)
	}
	want := g.old
	if err == nil || errors.Is(err, format.ErrNotDurable) {
		want = g.new
	}
	o := g.whole(dir, when)
	if o.Model != want.Model {
		g.t.Errorf("%s: error %v, but the model is\n%s", when, err, o.Model)
	}
	// What cannot be removed stays, and so does what the old model needs while it may come back.
	if d := cmp.Diff(want.Names, o.Names); d != "" && failed != "remove" && !forever && !errors.Is(err, format.ErrNotDurable) {
		g.t.Errorf("%s: left behind (-want +got)\n%s", when, d)
	}
	g.tidy(dir, when)
	return true
}
