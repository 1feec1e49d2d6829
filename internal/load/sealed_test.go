package load

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"slices"
	"testing"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/internal/source"
	"github.com/weightmap/weightmap/tensor"
)

// sealedPath maps a file, seals it and reads all of it.
func sealedPath(t *testing.T, path string, o *driver.Options) *source.Region {
	t.Helper()
	r := new(source.Region)
	expect.OK(t, r.Open(path, source.Options{}))
	sealer := &source.Sealer{Changed: driver.ErrSignature, Memory: o.Memory}
	expect.OK(t, sealer.Seal(r, nil, nil))
	_, err := io.Copy(io.Discard, io.NewSectionReader(r, 0, r.Size()))
	expect.OK(t, err)
	return r
}

// copies are all ways to a copy of a view's bytes.
var copies = map[string]func(m *Model, v tensor.View) ([]byte, error){
	"ReadInto": func(_ *Model, v tensor.View) ([]byte, error) {
		b := make([]byte, v.Info().Size)
		_, err := v.ReadInto(b)
		return b, err
	},
	"ReadAt": func(_ *Model, v tensor.View) ([]byte, error) {
		b := make([]byte, v.Info().Size)
		_, err := v.ReadAt(b, 0)
		if err == io.EOF {
			err = nil
		}
		return b, err
	},
	"Clone": func(_ *Model, v tensor.View) ([]byte, error) {
		c, err := v.Clone()
		if err != nil {
			return nil, err
		}
		return c.Bytes()
	},
	"Decode": func(_ *Model, v tensor.View) ([]byte, error) { return tensor.Decode[uint8](nil, v) },
	"DecodeAt": func(_ *Model, v tensor.View) ([]byte, error) {
		b := make([]byte, v.Info().Size)
		return b, tensor.DecodeAt(b, v, 0)
	},
	"Load": func(m *Model, v tensor.View) ([]byte, error) {
		b := make([]byte, v.Info().Size)
		return b, m.LoadAll(context.Background(), []Request{{Tensor: v.Name(), Bytes: b}}, nil)
	},
	"Load of a slice": func(m *Model, v tensor.View) ([]byte, error) {
		b := make([]byte, v.Info().Size)
		all := []tensor.Range{{From: 0, To: tensor.End}}
		return b, m.LoadAll(context.Background(), []Request{{Tensor: v.Name(), Slice: all, Bytes: b}}, nil)
	},
}

// shown are the ways to a view's bytes in place.
var shown = map[string]func(v tensor.View) ([]byte, error){
	"Bytes": tensor.View.Bytes,
	"As":    tensor.As[uint8],
	"Use": func(v tensor.View) (b []byte, err error) {
		err = v.Use(func(p []byte) error { b = bytes.Clone(p); return nil })
		return b, err
	},
}

// TestSealedViews: a file is overwritten in place, piece by piece. Copies of tensors are the sealed bytes or
// ErrSignature, each time; bytes in place are the sealed ones when they are shown first.
func TestSealedViews(t *testing.T) {
	const size = 5*source.PieceSize + 77
	data := make([]byte, size)
	for i := range data {
		data[i] = byte(i*13) ^ byte(i>>10)
	}
	d := &toy{tensors: []driver.Tensor{
		u8("all", 0, size), u8("small", 1000, 50), u8("next", 1050, 50), u8("piece", source.PieceSize, source.PieceSize), u8("last", size-5, 5),
	}}
	sum := func(i int) driver.Digest {
		return driver.Digest{Kind: driver.CRC32, Want: uint64(tensor.CRC32(data[d.tensors[i].Offset:][:d.tensors[i].Size]))}
	}
	for name, parsed := range map[string]driver.Parsed{"no sums": {}, "sums": {TensorSum: sum}} {
		t.Run(name, func(t *testing.T) {
			d.parsed = parsed
			for changed := int64(1020); changed < size; changed += source.PieceSize {
				path := stored(t, "m.toy", data)
				c := config(d, check(driver.CheckTouch))
				m := &Model{}
				expect.OK(t, m.Open(sealedPath(t, path, &c.Options), c))
				f, err := os.OpenFile(path, os.O_RDWR, 0)
				expect.OK(t, err)
				_, err = f.WriteAt([]byte{^data[changed]}, changed)
				expect.OK(t, err)
				for i := range m.index.Len() {
					v := m.At(i)
					off := v.Info().Offset
					want := data[off:][:v.Info().Size]
					for how, get := range copies {
						signedOrRefused(t, v.Name()+": "+how, want, func() ([]byte, error) { return get(m, v) })
					}
					for how, get := range shown {
						signedOrRefused(t, v.Name()+": "+how, want, func() ([]byte, error) { return get(v) })
					}
					piece := changed / source.PieceSize // what is compared at once
					hit := off/source.PieceSize <= piece && piece <= (off+v.Info().Size-1)/source.PieceSize
					if _, err := v.Bytes(); hit != errors.Is(err, driver.ErrSignature) {
						t.Errorf("%s: Bytes, changed at %d: %v", v.Name(), changed, err)
					}
				}
				if _, err := m.Verify(t.Context(), &VerifyOptions{}); !errors.Is(err, driver.ErrSignature) {
					t.Errorf("Verify, changed at %d: %v", changed, err)
				}
				_, err = f.WriteAt(data[changed:changed+1], changed)
				expect.OK(t, err)
				all := m.At(0)
				b, err := all.Bytes()
				isLasting := parsed.TensorSum != nil // a check before first use that failed is not repeated
				if !isLasting && (err != nil || !bytes.Equal(b, data)) || isLasting && !errors.Is(err, driver.ErrSignature) {
					t.Errorf("restored: %v", err)
				}
				_, err = f.WriteAt([]byte{^data[changed]}, changed)
				expect.OK(t, errors.Join(err, f.Close()))
				for how, get := range copies { // also after the bytes were shown
					if _, err := get(m, all); !errors.Is(err, driver.ErrSignature) {
						t.Errorf("%s after Bytes, changed at %d: %v", how, changed, err)
					}
				}
				expect.OK(t, m.Close())
			}
		})
	}
}

// signedOrRefused checks that a call returns the wanted bytes or ErrSignature.
func signedOrRefused(t *testing.T, what string, want []byte, call func() ([]byte, error)) {
	t.Helper()
	b, err := call()
	if err != nil && !errors.Is(err, driver.ErrSignature) {
		t.Errorf("%s: %v", what, err)
	}
	if err == nil && !slices.Equal(b, want) {
		t.Errorf("%s: bytes that were not sealed", what)
	}
}

// TestSealedAssorted: tensors of all kinds, slices and parts of them are read from a sealed file as from any other.
func TestSealedAssorted(t *testing.T) {
	d, data := assorted()
	plain := open(t, source.FromBytes(data), d)
	c := config(d)
	m := &Model{}
	expect.OK(t, m.Open(sealedPath(t, stored(t, "m.toy", data), &c.Options), c))
	defer m.Close()
	for i := range plain.index.Len() {
		v, want := m.At(i), plain.At(i)
		if v.ZeroCopy() != want.ZeroCopy() && want.ZeroCopy() {
			t.Errorf("%v is not zero-copy", v)
		}
		x, err := v.Digest()
		expect.OK(t, err)
		y, err := want.Digest()
		expect.OK(t, err)
		if x != y {
			t.Errorf("%v has another digest", v)
		}
		a, err := tensor.Decode[float32](nil, v)
		expect.OK(t, err)
		b, err := tensor.Decode[float32](nil, want)
		expect.OK(t, err)
		if !slices.EqualFunc(a, b, func(x, y float32) bool { return x == y || x != x && y != y }) {
			t.Errorf("%v decodes to other numbers", v)
		}
		got := make([]float32, len(a))
		expect.OK(t, m.LoadAll(t.Context(), []Request{{Tensor: v.Name(), Floats: got}}, nil))
		if !slices.EqualFunc(got, b, func(x, y float32) bool { return x == y || x != x && y != y }) {
			t.Errorf("%v loads other numbers", v)
		}
	}
}

// TestSealedSource: after parsing, a driver gets private bytes of a sealed file, which are compared.
func TestSealedSource(t *testing.T) {
	data := ramp(1000)
	path := stored(t, "m.toy", data)
	var src driver.Source
	d := &toy{before: func(s driver.Source) error { src = s; return nil }}
	c := config(d)
	m := &Model{}
	expect.OK(t, m.Open(sealedPath(t, path, &c.Options), c))
	defer m.Close()
	if src.InMemory() {
		t.Error("the source says that Slice aliases the file")
	}
	b, err := src.Slice(0, 1000)
	expect.OK(t, err)
	put(t, path, bytes.Repeat([]byte{9}, 1000))
	if !bytes.Equal(b, data) {
		t.Error("Slice aliases the file")
	}
}
