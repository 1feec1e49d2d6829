package digest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/weightmap/weightmap/format"
	_ "github.com/weightmap/weightmap/format/gguf"
	_ "github.com/weightmap/weightmap/format/npy"
	_ "github.com/weightmap/weightmap/format/onnx"
	_ "github.com/weightmap/weightmap/format/safetensors"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/internal/lowbit"
	_ "github.com/weightmap/weightmap/mag"
	_ "github.com/weightmap/weightmap/mle"
	"github.com/weightmap/weightmap/tensor"
)

// u64 is a number of the digest's layout.
func u64(n byte) []byte { return []byte{n, 0, 0, 0, 0, 0, 0, 0} }

func sum(b ...[]byte) []byte {
	s := sha256.Sum256(bytes.Join(b, nil))
	return s[:]
}

var (
	floats = []byte{0, 0, 128, 63, 0, 0, 0, 64, 0, 0, 64, 64, 0, 0, 128, 64, 0, 0, 160, 64, 0, 0, 192, 64} // 1 to 6
	halves = []byte{0, 60, 0, 64, 0, 66}                                                                   // 1 to 3
)

func view(t *testing.T, info tensor.Info, data []byte) tensor.View {
	t.Helper()
	return expect.Got(t, func() (tensor.View, error) { return tensor.FromInfo(info, data) })
}

// weights returns the tensors of which the tests know the digest, not in the order of their names.
func weights(t *testing.T) []tensor.View {
	return []tensor.View{
		view(t, tensor.Info{Name: "w", DType: tensor.Float32, Shape: tensor.Shape{2, 3}}, floats),
		view(t, tensor.Info{Name: "bias", DType: tensor.Float16, Shape: tensor.Shape{3}}, halves),
	}
}

// saved writes a model and opens it.
func saved(t *testing.T, file string, o *format.WriteOptions, meta schema.Metadata, views ...tensor.View) *format.Model {
	t.Helper()
	s := &schema.Schema{Metadata: meta}
	for _, v := range views {
		s.Tensors = append(s.Tensors, v.Info())
	}
	path := filepath.Join(t.TempDir(), file)
	w, err := format.Create(path, s, o)
	expect.OK(t, err)
	for _, v := range views {
		expect.OK(t, w.WriteView(v))
	}
	expect.OK(t, w.Close())
	m, err := format.Open(w.Files()[0], nil)
	expect.OK(t, err)
	t.Cleanup(func() { m.Close() })
	return m
}

// TestTensors computes the digest by hand, and compares that of the same tensors in several formats.
func TestTensors(t *testing.T) {
	want := hex.EncodeToString(sum(
		u64(4), []byte("bias"), u64(7), []byte("float16"), u64(1), u64(3), sum(halves),
		u64(1), []byte("w"), u64(7), []byte("float32"), u64(2), u64(2), u64(3), sum(floats),
	))
	cases := []struct {
		file string
		o    *format.WriteOptions
		meta schema.Metadata
	}{
		{"m.safetensors", nil, schema.Metadata{{Key: "author", Value: "Ada"}}},
		{"m.gguf", nil, nil},
		{"m.npz", nil, nil},
		{"m.mag", nil, nil},
		{"m.mle", nil, nil},
		{"sharded.safetensors", &format.WriteOptions{MaxShard: 24}, nil},
	}
	for _, c := range cases {
		t.Run(c.file, func(t *testing.T) {
			m := saved(t, c.file, c.o, c.meta, weights(t)...)
			got, err := Tensors(context.Background(), m, nil)
			expect.OK(t, err)
			expect.Equal(t, want, hex.EncodeToString(got[:]))
		})
	}
}

// What a digest must tell apart.
func TestTensorsDiffer(t *testing.T) {
	seen := map[string]string{}
	cases := []struct {
		name  string
		views []tensor.View
	}{
		{"as they are", weights(t)},
		{"one less", weights(t)[:1]},
		{"none", nil},
		{"another name", []tensor.View{view(t, tensor.Info{Name: "v", DType: tensor.Float32, Shape: tensor.Shape{2, 3}}, floats)}},
		{"another shape", []tensor.View{view(t, tensor.Info{Name: "w", DType: tensor.Float32, Shape: tensor.Shape{3, 2}}, floats)}},
		{"another rank", []tensor.View{view(t, tensor.Info{Name: "w", DType: tensor.Float32, Shape: tensor.Shape{6}}, floats)}},
		{"another type", []tensor.View{view(t, tensor.Info{Name: "w", DType: tensor.Int32, Shape: tensor.Shape{2, 3}}, floats)}},
		{"another number", []tensor.View{view(t, tensor.Info{Name: "w", DType: tensor.Float32, Shape: tensor.Shape{2, 3}}, append(bytes.Clone(floats[:20]), "abcd"...))}},
		{"an empty tensor", []tensor.View{view(t, tensor.Info{Name: "w", DType: tensor.Float32, Shape: tensor.Shape{0, 3}}, nil)}},
	}
	for _, c := range cases {
		m := saved(t, "m.safetensors", nil, nil, c.views...)
		got, err := Tensors(context.Background(), m, nil)
		expect.OK(t, err)
		text := fmt.Sprintf("%x", got)
		if other, ok := seen[text]; ok {
			t.Errorf("%s has the digest of %s", c.name, other)
		}
		seen[text] = c.name
	}
}

// Formats have different names for types of few bits.
func TestTensorsLowBits(t *testing.T) {
	a := saved(t, "m.safetensors", nil, nil, view(t, tensor.Info{Name: "s", Encoding: lowbit.Encoding("F8_E8M0"), Shape: tensor.Shape{4}}, []byte("abcd")))
	b := saved(t, "m.onnx", nil, nil, view(t, tensor.Info{Name: "s", Encoding: lowbit.Encoding("FLOAT8E8M0"), Shape: tensor.Shape{4}}, []byte("abcd")))
	want := sum(u64(1), []byte("s"), u64(7), []byte("F8_E8M0"), u64(1), u64(4), sum([]byte("abcd")))
	for _, m := range []*format.Model{a, b} {
		got, err := Tensors(context.Background(), m, nil)
		expect.OK(t, err)
		expect.Equal(t, want, got[:])
	}
}

// Tensors larger than a piece, with progress.
func TestTensorsPieces(t *testing.T) {
	const size = 2*(256<<10) + 5
	data := bytes.Repeat([]byte("weights"), size/7+1)[:size]
	want := sum(u64(1), []byte("w"), u64(4), []byte("int8"), u64(1), []byte{5, 0, 8, 0, 0, 0, 0, 0}, sum(data))
	for _, o := range []*format.WriteOptions{nil, {Compression: "zstd"}} {
		file := "m.safetensors"
		if o != nil {
			file = "m.mle"
		}
		m := saved(t, file, o, nil, view(t, tensor.Info{Name: "w", DType: tensor.Int8, Shape: tensor.Shape{size}}, data))
		var done, total int64
		got, err := Tensors(context.Background(), m, func(d, t int64, part string) { done, total = d, t })
		expect.OK(t, err)
		expect.Equal(t, want, got[:])
		expect.Equal(t, []int64{size, size}, []int64{done, total})
	}
}

func TestTensorsErrors(t *testing.T) {
	m := saved(t, "m.safetensors", nil, nil, weights(t)...)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	got, err := Tensors(ctx, m, nil)
	expect.Refused(t, context.Canceled)(got, err)
	m.Close()
	for _, closed := range []*format.Model{m, nil, {}} {
		got, err = Tensors(context.Background(), closed, nil)
		expect.Refused(t, format.ErrClosed)(got, err)
	}
}
