package live

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/binary"
	"encoding/json"
	"errors"
	"expvar"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weightmap/weightmap/format"
	_ "github.com/weightmap/weightmap/format/all"
	"github.com/weightmap/weightmap/format/convert"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/internal/source"
	"github.com/weightmap/weightmap/internal/testhost"
	"github.com/weightmap/weightmap/tensor"
)

// The key that signs, and the one that is trusted.
var (
	signer  = ed25519.NewKeyFromSeed(bytes.Repeat([]byte{7}, ed25519.SeedSize))
	trusted = format.TrustKey(signer.Public())
)

// elements is how many each of the two tensors of a test model has, all of one value.
const elements = 500

// model is what a test writes: value is that of every element.
type model struct {
	value    float32
	elements int
	unsigned bool
	external bool // the data is in another file
}

// bytesOf returns the bytes of a file of the model: MLE, whose sums cover everything.
func bytesOf(t testing.TB, m model) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "model.mle")
	writeModel(t, "mle", path, m)
	return mustRead(t, path)
}

// writeModel writes a model in any format, by the way that replaces what is at the path.
func writeModel(t testing.TB, name, path string, m model) {
	t.Helper()
	o := &format.WriteOptions{NoSync: true}
	if name == "mle" && !m.unsigned {
		o.Signer = signer
	}
	if m.external {
		o.ExternalFrom = 1
	}
	if m.elements == 0 {
		m.elements = elements
	}
	info := tensor.Info{DType: tensor.Float32, Shape: tensor.Shape{int64(m.elements)}}
	p := &schema.Schema{}
	for _, info.Name = range []string{"0", "1"} {
		p.Tensors = append(p.Tensors, info)
	}
	data := binary.LittleEndian.AppendUint32(nil, math.Float32bits(m.value))
	data = bytes.Repeat(data, m.elements)
	w, err := format.Create(path, p, o.With(expect.Must(format.ByName(name))))
	expect.OK(t, err)
	defer w.Abort()
	for _, info := range p.Tensors {
		expect.OK(t, w.WriteTensor(info.Name, bytes.NewReader(data)))
	}
	expect.OK(t, w.Close())
}

// replace puts a file in place by renaming, as writers should. It is old, and no two are as old, in seconds.
func replace(t testing.TB, path string, b []byte) {
	t.Helper()
	next := path + ".next"
	at := yearAgo.Add(time.Duration(age.Add(1)) * time.Second)
	if err := errors.Join(os.WriteFile(next, b, 0o666), os.Chtimes(next, at, at), os.Rename(next, path)); err != nil {
		if runtime.GOOS == "windows" {
			t.Skip("Windows replaces no file that is mapped: ", err)
		}
		t.Fatal(err)
	}
}

var (
	yearAgo = time.Now().AddDate(-1, 0, 0)
	age     atomic.Int64
)

// predict computes something of all elements of all tensors, and returns the value that they
// have, or an error when they have several.
func predict(m *format.Model) (float32, error) {
	value, n := float32(0), 0
	for name := range m.Tensors() {
		v, err := m.Tensor(name)
		if err != nil {
			return 0, err
		}
		w, err := tensor.Decode[float32](nil, v)
		if err != nil {
			return 0, err
		}
		for _, x := range w {
			if n == 0 {
				value = x
			}
			if n++; x != value {
				return 0, fmt.Errorf("%s has %v where others have %v", name, x, value)
			}
		}
	}
	if n == 0 {
		return 0, errors.New("no elements")
	}
	return value, nil
}

// current predicts with what is current.
func current(t testing.TB, h *Handle) float32 {
	t.Helper()
	l, err := h.Acquire()
	expect.OK(t, err)
	defer l.Release()
	value, err := predict(l.Model())
	if err != nil {
		t.Error(err)
	}
	return value
}

// start opens a handle on a new file of value 1.
func start(t testing.TB, o *Options) (*Handle, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "model")
	replace(t, path, bytesOf(t, model{value: 1}))
	h, err := Open(t.Context(), path, o)
	expect.OK(t, err)
	t.Cleanup(func() { h.Close() })
	return h, path
}

// reload reloads and checks the number of the generation that is current then.
func reload(t testing.TB, h *Handle, want uint64) {
	t.Helper()
	if got, err := h.Reload(t.Context()); got != want || err != nil {
		t.Fatalf("generation %d, %v, want %d", got, err, want)
	}
}

// closer counts how often it was closed.
type closer struct{ closed chan uint64 }

func (c *closer) Close() error { c.closed <- 1; return nil }

func TestLeases(t *testing.T) {
	testhost.NeedReplace(t)
	var made []*closer
	h, path := start(t, &Options{Prepare: func(context.Context, *format.Model) (any, error) {
		made = append(made, &closer{make(chan uint64, 10)})
		return made[len(made)-1], nil
	}})
	first, err1 := h.Acquire()
	second, err2 := h.Acquire()
	expect.OK(t, errors.Join(err1, err2))
	if first.Model() != second.Model() || first.Value() != any(made[0]) || first.Generation() != 1 {
		t.Error("two leases of one generation differ")
	}
	replace(t, path, bytesOf(t, model{value: 2}))
	reload(t, h, 2)
	if s := h.Stats(); s.Leases != 2 || s.Old != 1 || s.OldBytes == 0 {
		t.Errorf("with two leases of an old generation: %+v", s)
	}
	old := first.Model()
	first.Release()
	first.Release()
	if first.Model() != nil || first.Value() != nil || first.Generation() != 0 || !errors.Is(first.Intact(), format.ErrClosed) {
		t.Error("a released lease has a generation")
	}
	if v, err := predict(second.Model()); v != 1 || err != nil || len(made[0].closed) != 0 {
		t.Errorf("the old generation: value %v, %v", v, err)
	}
	second.Release()
	<-made[0].closed
	for h.Stats().Old > 0 {
		time.Sleep(time.Millisecond)
	}
	expect.Refused(t, format.ErrClosed, "the old model after its last lease")(old.At(0).Bytes())
	expect.OK(t, errors.Join(h.Close(), h.Close()))
	<-made[1].closed
	if len(made) != 2 || len(made[0].closed)+len(made[1].closed) > 0 {
		t.Error("something was made or closed more than once")
	}
}

// TestCopiedLease: what go vet would have said is noticed when the generation is replaced.
func TestCopiedLease(t *testing.T) {
	testhost.NeedReplace(t)
	h, path := start(t, nil)
	l, err := h.Acquire()
	expect.OK(t, err)
	again := Lease{g: l.g}
	l.Release()
	again.Release()
	replace(t, path, bytesOf(t, model{value: 2}))
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	_, _ = h.Reload(t.Context())
}

func TestAcquireDoesNotAllocate(t *testing.T) {
	h, _ := start(t, nil)
	n := testing.AllocsPerRun(100, func() {
		l, err := h.Acquire()
		expect.OK(t, err)
		defer l.Release()
		_ = l.Model()
	})
	if n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestClose(t *testing.T) {
	testhost.NeedReplace(t)
	h, path := start(t, nil)
	l, err := h.Acquire()
	expect.OK(t, err)
	replace(t, path, bytesOf(t, model{value: 2}))
	expect.OK(t, h.Close())
	if v, err := predict(l.Model()); v != 1 || err != nil {
		t.Errorf("a lease from before: value %v, %v", v, err)
	}
	if s := h.Stats(); s.Leases != 1 || s.Old != 1 || s.Generation != 0 {
		t.Errorf("%+v", s)
	}
	l.Release()
	_, acquired := h.Acquire()
	_, reloaded := h.Reload(t.Context())
	_, forced := h.ForceReload(t.Context())
	done := h.Do(func(*format.Model) error { return nil })
	for i, err := range []error{acquired, reloaded, forced, done, h.Watch(t.Context())} {
		if !errors.Is(err, format.ErrClosed) {
			t.Errorf("call %d after Close: %v", i, err)
		}
	}
}

// TestCloseWhileLoading: what is being loaded ends, and does not become current.
func TestCloseWhileLoading(t *testing.T) {
	loading, second := make(chan struct{}), false
	h, _ := start(t, &Options{Prepare: func(ctx context.Context, _ *format.Model) (any, error) {
		if second {
			close(loading)
			<-ctx.Done()
		}
		second = true
		return nil, nil
	}})
	result := make(chan error)
	go func() {
		_, err := h.ForceReload(t.Context())
		result <- err
	}()
	<-loading
	expect.OK(t, h.Close())
	expect.Refused(t, format.ErrClosed, "the reload")(nil, <-result)
}

// published is a handle as a variable.
func published(h *Handle) expvar.Var { return expvar.Func(func() any { return h.Stats() }) }

func TestExpvar(t *testing.T) {
	h, path := start(t, demanding())
	replace(t, path, nil)
	_, err := h.Reload(t.Context())
	l, acquired := h.Acquire()
	if err == nil || acquired != nil {
		t.Fatal(err, acquired)
	}
	defer l.Release()
	// What the system says of a handle gets values that tests can compare.
	g := h.current.Load()
	g.since, g.took = time.Unix(1700000000, 500e6), 250*time.Millisecond
	g.stats.Mapped, g.stats.Heap, g.stats.FileSize = 16588, 5, 16588
	g.id.infos[0] = nil
	h.stats.LastErrorTime = time.Time{}
	var got map[string]any
	expect.OK(t, json.Unmarshal([]byte(published(h).String()), &got))
	since, errs := got["since"].(string), got["last_error"]
	delete(got, "since")
	if at, err := time.Parse(time.RFC3339, since); err != nil || !at.Equal(time.Unix(1700000000, 500e6)) {
		t.Error(since, err)
	}
	if errs != err.Error() {
		t.Errorf("last error %v, want %v", errs, err)
	}
	delete(got, "last_error")
	want := map[string]any{
		"path": path, "generation": 1., "format": "mle", "file_size": 16588., "mapped": 16588., "heap": 5., "files": 1.,
		"modified": "0001-01-01T00:00:00Z", "load_time_ns": 250e6, "leases": 1., "old": 0., "old_bytes": 0.,
		"stale": true, "missing": false, "overwritten": false,
		"looks": 1., "loads": 1., "failures": 1., "overwrites": 0., "last_error_time": "0001-01-01T00:00:00Z",
	}
	expect.Equal(t, want, got)
	expect.OK(t, h.Close())
	if text := published(h).String(); !strings.Contains(text, `"generation":0,`) || !strings.Contains(text, `"failures":1,`) {
		t.Error(text)
	}
}

// packed writes a model whose tensors are compressed, and encrypted with a key if there is one.
func packed(t *testing.T, key []byte) string {
	t.Helper()
	dir := t.TempDir()
	plain, path := filepath.Join(dir, "plain"), filepath.Join(dir, "model.wia")
	replace(t, plain, bytesOf(t, model{value: 1}))
	o := &format.WriteOptions{NoSync: true, Compression: "zstd"}
	if key != nil {
		o = &format.WriteOptions{NoSync: true, Key: key}
	}
	_, err := convert.File(t.Context(), plain, path, &convert.Options{Lossy: true, Write: o})
	expect.OK(t, err)
	return path
}

// TestWarm: what is compressed is decoded before a generation becomes current, but only with Options.Warm.
func TestWarm(t *testing.T) {
	path := packed(t, nil)
	for _, warm := range []bool{false, true} {
		h, err := Open(t.Context(), path, &Options{Warm: warm})
		expect.OK(t, err)
		defer h.Close()
		kept := int64(0)
		if warm {
			kept = 2 * elements * 4
		}
		err = h.Do(func(m *format.Model) error {
			if s := m.Stats(); s.Kept != kept {
				t.Errorf("warm %v: %d bytes are kept, want %d", warm, s.Kept, kept)
			}
			return nil
		})
		if err != nil || current(t, h) != 1 {
			t.Error(err)
		}
	}
}

// TestWarmRefuses: what could not be used is not made current.
func TestWarmRefuses(t *testing.T) {
	path := packed(t, make([]byte, 32))
	expect.Refused(t, format.ErrKey, "without the key")(Open(t.Context(), path, &Options{Warm: true}))
}

// TestHot: hot tensors are locked in memory, and a model without them is refused.
func TestHot(t *testing.T) {
	testhost.NeedMaps(t)
	h, path := start(t, nil)
	h.Close()
	h, err := Open(t.Context(), path, &Options{Hot: []string{"1"}})
	if errors.Is(err, format.ErrLimit) || errors.Is(err, source.ErrNoLock) {
		t.Skip("this process may not lock memory: ", err)
	}
	expect.OK(t, err)
	defer h.Close()
	if err := h.Do(func(m *format.Model) error {
		if n := m.Stats().Locked; n < 4*elements {
			t.Errorf("%d bytes are locked", n)
		}
		return nil
	}); err != nil {
		t.Error(err)
	}
	expect.Refused(t, format.ErrNotFound, "a hot tensor that the model lacks")(Open(t.Context(), path, &Options{Hot: []string{"none"}}))
}

// TestContextTwice: the context of opening has one place.
func TestContextTwice(t *testing.T) {
	o := &Options{Open: &format.Options{Context: t.Context()}}
	expect.Refused(t, format.ErrOption, "Open.Context is set")(Open(t.Context(), "m.safetensors", o))
}
