package mobi

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/tensor"
)

// accessors are the ways to the data of constant 9, which is two float32.
var accessors = []struct {
	name string
	call func(v tensor.View) error
}{
	{"Bytes", func(v tensor.View) error { _, err := v.Bytes(); return err }},
	{"As", func(v tensor.View) error { _, err := tensor.As[float32](v); return err }},
	{"Use", func(v tensor.View) error {
		return v.Use(func([]byte) error { return nil })
	}},
	{"ReadInto", func(v tensor.View) error { _, err := v.ReadInto(make([]byte, 8)); return err }},
	{"Clone", func(v tensor.View) error { _, err := v.Clone(); return err }},
	{"Decode", func(v tensor.View) error { _, err := tensor.Decode[float64](nil, v); return err }},
	{"Digest", func(v tensor.View) error { _, err := v.Digest(); return err }},
	{"Slice", func(v tensor.View) error {
		s, err := v.Slice(tensor.At(1))
		if err == nil {
			_, err = s.Bytes()
		}
		return err
	}},
	{"NewTensor", func(v tensor.View) error { _, err := NewTensor(1, v); return err }},
}

// opened opens b in every way.
func opened(t *testing.T, b []byte) map[string]*File {
	t.Helper()
	path := filepath.Join(t.TempDir(), "m.mobi")
	if err := os.WriteFile(path, b, 0o644); err != nil {
		t.Fatal(err)
	}
	files := map[string]*File{}
	keep := func(way string, f *File, err error) {
		if err != nil {
			t.Fatalf("%s: %v", way, err)
		}
		t.Cleanup(func() { f.Close() })
		files[way] = f
	}
	f, err := Open(path, nil)
	keep("mapped", f, err)
	f, err = OpenBytes(b, nil)
	keep("memory", f, err)
	f, err = OpenReaderAt(bytes.NewReader(b), int64(len(b)), nil)
	keep("reader", f, err)
	return files
}

// damaged are files whose structure is sound and whose footer is wrong, one
// with an aligned constant, one with a misaligned and one with a compressed one.
func damaged() map[string][]byte {
	return map[string][]byte{
		"footer": with(func(m *image) { m.spoil = func(b []byte) { b[len(b)-1] ^= 1 } }),
		"data":   with(func(m *image) { m.spoil = func(b []byte) { b[bytes.Index(b, f32s(1, -2))] ^= 1 } }),
		"misaligned": with(func(m *image) {
			m.records[0], m.records[1] = m.records[1], m.records[0]
			m.spoil = func(b []byte) { b[len(b)-1] ^= 1 }
		}),
		"compressed": with(func(m *image) {
			m.records[0] = recordOf(9, 0x8000, []uint64{2}, zipped(f32s(1, -2)))
			m.spoil = func(b []byte) { b[len(b)-1] ^= 1 }
		}),
	}
}

// TestFooterBeforeFirstByte: a file opens whatever its footer says, and no
// accessor hands out a byte of one whose footer is wrong.
func TestFooterBeforeFirstByte(t *testing.T) {
	for what, b := range damaged() {
		for _, a := range accessors {
			for way, f := range opened(t, b) {
				t.Run(what+"/"+a.name+"/"+way, func(t *testing.T) {
					for range 2 {
						v, _ := f.Constant(9)
						err := a.call(v)
						wantError(t, err, format.ErrChecksum, "footer")
						var e *format.Error
						if errors.As(err, &e) && e.Offset != int64(len(b)-4) {
							t.Errorf("the error names offset %d, the footer is at %d", e.Offset, len(b)-4)
						}
					}
					for _, v := range f.Tensors() {
						_, err := v.Bytes()
						wantError(t, err, format.ErrChecksum, "footer")
					}
					if _, err := f.Operators(); err != nil {
						t.Errorf("the operators need no footer: %v", err)
					}
					if _, ok := f.Footer(); ok {
						t.Error("a wrong footer counts as known")
					}
				})
			}
		}
	}
}

// TestCheckAll: the footer is checked when the caller asks for it.
func TestCheckAll(t *testing.T) {
	for what, b := range damaged() {
		_, err := OpenBytes(b, &format.Options{Check: format.CheckAll})
		wantError(t, err, format.ErrChecksum, "footer")
		if err := ValidateBytes(b); !errors.Is(err, format.ErrChecksum) {
			t.Errorf("%s: ValidateBytes: %v", what, err)
		}
	}
	src := &counted{b: small().bytes()}
	f, err := OpenReaderAt(src, int64(len(src.b)), &format.Options{Check: format.CheckAll})
	if err != nil {
		t.Fatal(err)
	}
	src.bytes = 0
	v, _ := f.Constant(9)
	if _, err := v.Bytes(); err != nil || src.bytes != 8 {
		t.Errorf("the first use after CheckAll reads %d bytes, %v", src.bytes, err)
	}
}

// TestFirstUseOnce: many goroutines at once make the footer be read once, and
// all have the same answer.
func TestFirstUseOnce(t *testing.T) {
	for _, sound := range []bool{true, false} {
		b := with(func(m *image) {
			m.records = append(m.records, recordOf(1, 2, []uint64{1 << 20}, make([]byte, 1<<20)))
			m.spoil = func(b []byte) {
				if !sound {
					b[len(b)-1] ^= 1
				}
			}
		})
		src := &tally{ReaderAt: bytes.NewReader(b)}
		f, err := OpenReaderAt(src, int64(len(b)), nil)
		if err != nil {
			t.Fatal(err)
		}
		src.n.Store(0)
		var wait sync.WaitGroup
		for i := range 16 {
			wait.Go(func() {
				v, _ := f.Constant(7)
				err := accessors[i%2*2].call(v)
				if sound != (err == nil) {
					t.Errorf("sound %v: %v", sound, err)
				}
			})
		}
		wait.Wait()
		// A wrong footer is compared with both sums.
		most := int64(2*len(b) + 1024)
		if n := src.n.Load(); n > most {
			t.Errorf("sound %v: 16 uses read %d bytes of %d", sound, n, len(b))
		}
		f.Close()
		v, _ := f.Constant(7)
		if _, err := v.Bytes(); !errors.Is(err, format.ErrClosed) {
			t.Errorf("sound %v, after Close: %v", sound, err)
		}
	}
}

// TestVerdictForAll: a wrong footer is found once for all constants, whether by
// their first use or by Verify.
func TestVerdictForAll(t *testing.T) {
	b := with(func(m *image) {
		m.spoil = func(b []byte) { b[len(b)-1] ^= 1 }
	})
	for _, how := range []string{"first use", "Verify"} {
		src := &tally{ReaderAt: bytes.NewReader(b)}
		f, err := OpenReaderAt(src, int64(len(b)), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if how == "Verify" {
			wantError(t, verify(t, f), format.ErrChecksum, "footer")
		} else {
			_, err := f.At(0).Bytes()
			wantError(t, err, format.ErrChecksum, "footer")
		}
		src.n.Store(0)
		for _, v := range f.Tensors() {
			_, err := v.Bytes()
			wantError(t, err, format.ErrChecksum, "footer")
		}
		if n := src.n.Load(); n != 0 {
			t.Errorf("after %s, %d bytes are read to refuse the others", how, n)
		}
	}
}

// tally is an io.ReaderAt that counts, for several goroutines.
type tally struct {
	io.ReaderAt
	n atomic.Int64
}

func (c *tally) ReadAt(p []byte, off int64) (int, error) {
	n, err := c.ReaderAt.ReadAt(p, off)
	c.n.Add(int64(n))
	return n, err
}

// TestFailedReadIsNoVerdict: a reader that fails once does not condemn the file.
func TestFailedReadIsNoVerdict(t *testing.T) {
	b := small().bytes()
	src := &flaky{ReaderAt: bytes.NewReader(b)}
	f, err := OpenReaderAt(src, int64(len(b)), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	v, _ := f.Constant(9)
	src.broken.Store(true)
	if _, err := v.Bytes(); !errors.Is(err, errFlaky) {
		t.Errorf("with a broken reader: %v", err)
	}
	src.broken.Store(false)
	if _, err := v.Bytes(); err != nil {
		t.Errorf("with a working one: %v", err)
	}
}

var errFlaky = errors.New("the line is down")

type flaky struct {
	io.ReaderAt
	broken atomic.Bool
}

func (f *flaky) ReadAt(p []byte, off int64) (int, error) {
	if f.broken.Load() {
		return 0, errFlaky
	}
	return f.ReaderAt.ReadAt(p, off)
}

// TestVerifyDecides: what Verify found about the footer is not found out again.
func TestVerifyDecides(t *testing.T) {
	src := &counted{b: small().bytes()}
	f, err := OpenReaderAt(src, int64(len(src.b)), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := verify(t, f); err != nil {
		t.Fatal(err)
	}
	src.bytes = 0
	v, _ := f.Constant(9)
	if _, err := v.Bytes(); err != nil || src.bytes != 8 {
		t.Errorf("the first use after Verify reads %d bytes, %v", src.bytes, err)
	}
}

// TestNoAllocations: once the footer was checked, lookups and typed views cost no
// memory.
func TestNoAllocations(t *testing.T) {
	f := opened(t, with(func(m *image) {
		m.pad = make([]byte, 1) // such that constant 9 is aligned
	}))["mapped"]
	for id := range f.Constants() {
		v, _ := f.Constant(id)
		if err := v.Use(func([]byte) error { return nil }); err != nil {
			t.Fatal(err)
		}
		if !v.ZeroCopy() {
			continue
		}
		name := v.Name()
		if n := testing.AllocsPerRun(100, func() {
			v, found := f.Tensor(name)
			if _, err := v.Bytes(); found != nil || err != nil {
				t.Fatal(err)
			}
			if v.DType() == tensor.Float32 {
				if _, err := tensor.As[float32](v); err != nil {
					t.Fatal(err)
				}
			}
		}); n != 0 {
			t.Errorf("constant %d: a lookup and a view allocate %v times", id, n)
		}
	}
}
