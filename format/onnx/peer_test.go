package onnx

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/convert"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/internal/testhost"
	"github.com/weightmap/weightmap/tensor"
)

// peerSchema is a model whose shapes can be inferred.
func peerSchema() *schema.Schema {
	return &schema.Schema{
		Metadata: schema.Metadata{{Key: "producer_name", Value: "weightmap"}, {Key: "k", Value: "v"}},
		Tensors: []tensor.Info{
			{Name: "w", DType: tensor.Float32, Shape: tensor.Shape{3, 2}}, {Name: "b", DType: tensor.Float32, Shape: tensor.Shape{2}},
			{Name: "h", DType: tensor.Float16, Shape: tensor.Shape{1}}, {Name: "l", DType: tensor.Int64}, {Name: "none", DType: tensor.Float32, Shape: tensor.Shape{0, 2}},
		},
		Graph: &schema.Graph{
			Name:    "main",
			Inputs:  []schema.ValueInfo{{Name: "x", DType: tensor.Float32, Dims: []schema.Dim{{Size: 4}, {Size: 3}}}},
			Outputs: []schema.ValueInfo{{Name: "y", DType: tensor.Float32, Dims: []schema.Dim{{Size: 4}, {Size: 2}}}},
			Nodes: []schema.Node{
				{Name: "gemm", Op: "Gemm", Inputs: []string{"x", "w", "b"}, Outputs: []string{"g"}, Attributes: []schema.Attribute{{Name: "alpha", Value: float32(0.5)}}},
				{Op: "Softmax", Inputs: []string{"g"}, Outputs: []string{"y"}, Attributes: []schema.Attribute{{Name: "axis", Value: int64(0)}}},
			},
		},
	}
}

// fill is data for a tensor.
func fill(i int, n int64) []byte {
	b := make([]byte, n)
	for k := range b {
		b[k] = byte(7*i + k)
	}
	return b
}

// written writes a schema to a file in a directory of its own.
func written(t *testing.T, p *schema.Schema, o *format.WriteOptions) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "m.onnx")
	w, err := format.Create(path, p, o)
	expect.OK(t, err)
	for i := range p.Tensors {
		n, _ := p.Tensors[i].ByteSize()
		expect.OK(t, w.WriteTensor(p.Tensors[i].Name, bytes.NewReader(fill(i, n))))
	}
	expect.OK(t, w.Close())
	return path
}

// TestPeerReads lets ONNX's checker and strict shape inference look at our files, with the
// data in them and beside them.
func TestPeerReads(t *testing.T) {
	const want = `8 [('', 17)] [('k', 'v')]
[('g', [4, 2])]
w [3, 2] 1 000102030405060708090a0b0c0d0e0f1011121314151617
b [2] 1 0708090a0b0c0d0e
h [1] 10 0e0f
l [] 7 15161718191a1b1c
none [0, 2] 1 
Gemm [('alpha', 0.5)]
Softmax [('axis', 0)]
`
	for name, o := range map[string]*format.WriteOptions{"inside": nil, "beside": {ExternalFrom: 8}} {
		t.Run(name, func(t *testing.T) {
			expect.Equal(t, want, testhost.Python(t, "onnx", "testdata/check.py", written(t, peerSchema(), o)))
		})
	}
}

// TestReadsPeer reads what python3-onnx writes.
func TestReadsPeer(t *testing.T) {
	testhost.NeedTimes(t)
	dir := t.TempDir()
	paths := []string{filepath.Join(dir, "inside.onnx"), filepath.Join(dir, "beside.onnx")}
	want := testhost.Python(t, "onnx", "testdata/make.py", paths...)
	for _, path := range paths {
		f, err := Open(path, nil)
		expect.OK(t, err)
		defer f.Close()
		var got strings.Builder
		for name := range f.Tensors() {
			if name != "text" {
				fmt.Fprintf(&got, "%s %x\n", name, bytesOf(t, f, name))
			}
		}
		if diff := cmp.Diff(want, got.String()); diff != "" {
			t.Errorf("%s: %s", path, diff)
		}
		text, err := f.Strings("text")
		if diff := cmp.Diff([]string{"ab", ""}, text); diff != "" || err != nil {
			t.Errorf("%v %s", err, diff)
		}
		ir, _ := expect.Got(t, f.Metadata).Int64("ir_version")
		if diff := cmp.Diff([]schema.OperatorSet{{Domain: "", Version: 17}}, f.OperatorSets()); diff != "" || ir != 8 {
			t.Error(ir, diff)
		}
		g, err := f.Graph()
		expect.OK(t, err)
		scope := map[string][]string{}
		for _, a := range g.Nodes[0].Attributes {
			scope[a.Name] = a.Value.(*schema.Graph).Initializers
		}
		expect.Equal(t, map[string][]string{"then_branch": {"c"}, "else_branch": {}}, scope)
		if _, err := f.Tensor("c"); err == nil {
			t.Error("an initializer of a subgraph is a tensor of the model")
		}
	}
}

// TestAligned: raw data begins at multiples of 64, whatever precedes it, and large external
// data at those of 4096.
func TestAligned(t *testing.T) {
	testhost.NeedTimes(t)
	for n := range 130 {
		p := &schema.Schema{Tensors: []tensor.Info{{Name: strings.Repeat("n", n+1), DType: tensor.Float64, Shape: tensor.Shape{3}}, {Name: "-", DType: tensor.Uint8, Shape: tensor.Shape{1}}}}
		f, err := Open(written(t, p, nil), nil)
		expect.OK(t, err)
		for _, v := range f.Tensors() {
			if off := v.Info().Offset; off%alignment != 0 {
				t.Errorf("a name of %d bytes: data at %d", n+1, off)
			}
		}
		f.Close()
	}
	p := &schema.Schema{Tensors: []tensor.Info{{Name: "s", DType: tensor.Int8, Shape: tensor.Shape{9}}, {Name: "l", DType: tensor.Int8, Shape: tensor.Shape{5000}}, {Name: "in", DType: tensor.Int8, Shape: tensor.Shape{1}}}}
	path := written(t, p, &format.WriteOptions{ExternalFrom: 9, External: "d/w.bin"})
	f, err := Open(path, nil)
	expect.OK(t, err)
	defer f.Close()
	for i, v := range []string{"s", "l", "in"} {
		if !bytes.Equal(bytesOf(t, f, v), fill(i, p.Tensors[i].Shape[0])) {
			t.Errorf("%s: other data", v)
		}
	}
	v, _ := f.Tensor("l")
	if off := v.Info().Offset; off != pageAlign {
		t.Errorf("at %d", off)
	}
	files, _ := filepath.Glob(filepath.Join(filepath.Dir(path), "d", "w.bin.onnx.*.data"))
	if len(files) != 1 {
		t.Fatalf("files of data: %q", files)
	}
	if info, err := os.Stat(files[0]); err != nil || info.Size() != pageAlign+5000 {
		t.Error(info, err)
	}
}

// TestPeerKept: python3-onnx reads in a copy what it wrote into the original, and in one
// with other metadata, of ONNX's own models of all operators.
func TestPeerKept(t *testing.T) {
	if testing.Short() {
		t.Skip("a thousand models")
	}
	in, out, edited := t.TempDir(), t.TempDir(), t.TempDir()
	count := testhost.Python(t, "onnx", "testdata/nodes.py", in)
	files, err := os.ReadDir(in)
	if err != nil || len(files) < 20 {
		t.Fatal(count, err)
	}
	for _, f := range files {
		path := filepath.Join(in, f.Name())
		if _, err := convert.File(t.Context(), path, filepath.Join(out, f.Name()), &convert.Options{Verify: true, Write: &format.WriteOptions{NoSync: true}}); err != nil {
			t.Error(err)
		}
		if err := edit(path, filepath.Join(edited, f.Name())); err != nil {
			t.Error(err)
		}
	}
	if t.Failed() {
		return
	}
	expect.Equal(t, "", testhost.Python(t, "onnx", "testdata/compare.py", in, out, edited))
	t.Logf("%s models", strings.TrimSpace(count))
}

// edit writes a model with another entry of metadata, as weightmap set does.
func edit(in, out string) error {
	m, err := format.Open(in, nil)
	if err != nil {
		return err
	}
	defer m.Close()
	p, err := m.Schema()
	if err != nil {
		return err
	}
	p.Metadata = append(p.Metadata, schema.Entry{Key: "weightmap", Value: "1"})
	w, err := format.Create(out, p, &format.WriteOptions{NoSync: true})
	if err != nil {
		return err
	}
	defer w.Abort()
	err = w.WriteModel(m)
	if err != nil {
		return err
	}
	return w.Close()
}
