package npy

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/internal/testhost"
	"github.com/weightmap/weightmap/tensor"
)

// TestReadNumPy reads what NumPy writes: every dtype, order and layout.
func TestReadNumPy(t *testing.T) {
	dir := t.TempDir()
	testhost.Python(t, "numpy", "testdata/write.py", dir)
	raws, _ := filepath.Glob(filepath.Join(dir, "*.raw"))
	if len(raws) != 14*2*6*2 {
		t.Fatalf("%d files", len(raws))
	}
	check := func(m *format.Model, name string) {
		t.Helper()
		v, err := m.Tensor(name)
		if err != nil {
			t.Error(err)
			return
		}
		want, _ := os.ReadFile(filepath.Join(dir, name+".raw"))
		got := make([]byte, v.Info().Size)
		if _, err := v.ReadInto(got); err != nil || !bytes.Equal(want, got) {
			t.Errorf("%s: %v, %x, want %x", name, err, got, want)
		}
	}
	for _, raw := range raws {
		name := strings.TrimSuffix(filepath.Base(raw), ".raw")
		f, err := Open(filepath.Join(dir, name+".npy"), &format.Options{Check: format.CheckAll})
		expect.OK(t, err)
		check(f, name)
		f.Close()
	}
	for file, n := range map[string]int{"stored.npz": len(raws), "packed.npz": len(raws), "piped.npz": len(raws), "empty.npz": 0} {
		f, err := Open(filepath.Join(dir, file), &format.Options{Check: format.CheckAll})
		expect.OK(t, err)
		for name := range f.Tensors() {
			check(f, name)
		}
		if f.Len() != n {
			t.Errorf("%s: %d tensors, want %d", file, f.Len(), n)
		}
		f.Close()
	}
}

// TestWrittenForNumPy: NumPy reads ours, maps the lone ones, and writes the same bytes.
func TestWrittenForNumPy(t *testing.T) {
	dir := t.TempDir()
	p := &schema.Schema{}
	data := map[string][]byte{}
	for _, e := range elems {
		for name, s := range map[string]tensor.Shape{"s": {}, "v": {5}, "m": {3, 4}, "e": {2, 0, 3}, "d": slices.Repeat(tensor.Shape{1}, 20)} {
			info := tensor.Info{Name: e.code + name, DType: e.dtype, Encoding: e.enc, Shape: s}
			info.Size, _ = info.ByteSize()
			b := ramp(int(info.Size))
			if e.dtype == tensor.Bool {
				for i := range b {
					b[i] &= 1
				}
			}
			data[info.Name] = b
			p.Tensors = append(p.Tensors, info)
			w, err := format.Create(filepath.Join(dir, info.Name+".npy"), &schema.Schema{Tensors: []tensor.Info{info}}, nil)
			finish(t, w, err, map[string][]byte{info.Name: b})
			expect.OK(t, os.WriteFile(filepath.Join(dir, info.Name+".raw"), b, 0o666))
		}
	}
	p.Tensors = append(p.Tensors, tensor.Info{Name: "größe/../x", DType: tensor.Int8, Shape: tensor.Shape{3}})
	data["größe/../x"] = ramp(3)
	w, err := format.Create(filepath.Join(dir, "all.npz"), p, nil)
	finish(t, w, err, data)
	got := testhost.Python(t, "numpy", "testdata/read.py", dir)
	expect.Equal(t, "70 71\n", got)
}

// finish writes all tensors of a writer that began well.
func finish(t *testing.T, w *format.Writer, err error, data map[string][]byte) {
	t.Helper()
	expect.OK(t, err)
	for name, b := range data {
		expect.OK(t, w.WriteTensor(name, bytes.NewReader(b)))
	}
	expect.OK(t, w.Close())
}
