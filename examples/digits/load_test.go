package digits

import (
	"bytes"
	"errors"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/weightmap/weightmap/format"
	_ "github.com/weightmap/weightmap/format/all"
	"github.com/weightmap/weightmap/format/convert"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/mle"
	"github.com/weightmap/weightmap/tensor"
)

// sample returns weights that are all different.
func sample() *Weights {
	w, x := &Weights{}, float32(0)
	for info, values := range w.Parameters() {
		n, err := info.Shape.Elems()
		if err != nil {
			panic(err)
		}
		for range n {
			x += 1. / 1024
			*values = append(*values, x-8)
		}
	}
	return w
}

func open(t *testing.T, path string) *format.Model {
	t.Helper()
	m, err := format.Open(path, nil)
	expect.OK(t, err)
	t.Cleanup(func() { m.Close() })
	return m
}

// little reports whether this host can use the weights without copying.
func little(t *testing.T, m *format.Model) bool {
	t.Helper()
	for _, v := range m.Tensors() {
		_, err := tensor.As[float32](v)
		return !errors.Is(err, tensor.ErrByteOrder)
	}
	return false
}

// TestLoad checks that the weights survive in every format, with rounding only if the dtype
// differs, and that only other dtypes are copied.
func TestLoad(t *testing.T) {
	dir, want := t.TempDir(), sample()
	master := filepath.Join(dir, "digits.wia")
	expect.OK(t, want.Save(master))
	int8s := func(perChannel bool) *convert.Options {
		return &convert.Options{Lossy: true, Quantize: func(i tensor.Info) *tensor.QuantizeOptions {
			if len(i.Shape) < 2 {
				return nil
			}
			return &tensor.QuantizeOptions{PerChannel: perChannel}
		}}
	}
	half := &convert.Options{Lossy: true, DType: tensor.Float16}
	for _, c := range []struct {
		file     string
		o        *convert.Options
		accuracy float64
	}{
		{"digits.wia", nil, 0},
		{"a.mag", &convert.Options{Lossy: true}, 0},
		{"a.tsr", &convert.Options{Lossy: true}, 0},
		{"a.mobi", &convert.Options{Lossy: true}, 0},
		{"a.mle", &convert.Options{Lossy: true}, 0},
		{"a.safetensors", &convert.Options{Lossy: true}, 0},
		{"a.gguf", &convert.Options{Lossy: true}, 0},
		{"a.onnx", &convert.Options{Lossy: true}, 0},
		{"half.mag", half, 1. / 256},
		{"half.mobi", half, 1. / 256},
		{"int8.wia", int8s(false), 1. / 8},
		{"int8.mobi", int8s(false), 1. / 8},
		{"int8.mle", &convert.Options{Lossy: true, Write: &format.WriteOptions{Format: mle.Format{Lossy: mle.MethodInt8}}}, 1. / 8},
		{"channels.wia", int8s(true), 1. / 8},
		{"channels.mobi", int8s(true), 1. / 8},
	} {
		t.Run(c.file, func(t *testing.T) {
			path := filepath.Join(dir, c.file)
			if c.o != nil {
				if _, err := convert.File(t.Context(), master, path, c.o); err != nil {
					t.Fatal(err)
				}
			}
			m := open(t, path)
			got, err := Load(m)
			expect.OK(t, err)
			if copied := got.Copied > 0; copied != (c.accuracy > 0 || !little(t, m)) {
				t.Errorf("%d bytes copied", got.Copied)
			}
			near := cmpopts.EquateApprox(0, c.accuracy)
			if diff := cmp.Diff(want, got, near, cmpopts.IgnoreFields(Weights{}, "Copied")); diff != "" {
				t.Errorf("values that are farther away than %v:\n%.1000s", c.accuracy, diff)
			}
		})
	}
}

// TestLoadRefuses checks that for another model the error names the unsuitable tensor.
func TestLoadRefuses(t *testing.T) {
	bias := func(p *schema.Schema) *tensor.Info {
		return &p.Tensors[slices.IndexFunc(p.Tensors, func(i tensor.Info) bool { return i.Name == "dense1.bias" })]
	}
	for _, c := range []struct {
		name   string
		change func(*schema.Schema)
		want   error
	}{
		{"another name", func(p *schema.Schema) { bias(p).Name = "dense3.bias" }, format.ErrNotFound},
		{"another shape", func(p *schema.Schema) { bias(p).Shape = tensor.Shape{Hidden, 1} }, format.ErrShape},
		{"one element less", func(p *schema.Schema) { bias(p).Shape = tensor.Shape{Hidden - 1} }, format.ErrShape},
		{"integers", func(p *schema.Schema) { bias(p).DType = tensor.Int8 }, format.ErrQuantization},
	} {
		t.Run(c.name, func(t *testing.T) {
			path, p := filepath.Join(t.TempDir(), "other.mag"), Schema()
			p.Graph, p.Metadata = nil, nil
			c.change(p)
			w, err := format.Create(path, p, &format.WriteOptions{Extended: true, Format: expect.Must(format.ByName("mag"))})
			expect.OK(t, err)
			defer w.Abort()
			for _, i := range p.Tensors {
				n, err := i.ByteSize()
				expect.OK(t, err)
				expect.OK(t, w.WriteTensor(i.Name, bytes.NewReader(make([]byte, n))))
			}
			expect.OK(t, w.Close())
			if got, err := Load(open(t, path)); !errors.Is(err, c.want) || got != nil {
				t.Errorf("got %v, %v; want %v", got, err, c.want)
			}
		})
	}
}
