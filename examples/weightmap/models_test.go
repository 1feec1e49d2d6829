package main

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/tensor"
)

// sample is a tensor with its data.
type sample struct {
	info tensor.Info
	data []byte
}

// of makes a tensor of some elements.
func of(name string, d tensor.DType, shape tensor.Shape, elements any) sample {
	var b bytes.Buffer
	if err := binary.Write(&b, binary.LittleEndian, elements); err != nil {
		panic(err)
	}
	return sample{tensor.Info{Name: name, DType: d, Shape: shape}, b.Bytes()}
}

// floats is a vector.
func floats(name string, values ...float32) sample {
	return of(name, tensor.Float32, tensor.Shape{int64(len(values))}, values)
}

// quantized gives a tensor parameters.
func (s sample) quantized(q *tensor.Quantization) sample {
	s.info.Quant = q
	return s
}

// put writes a model of these tensors; without a format, the ending of path names it.
func put(t *testing.T, kind, path string, content schema.Schema, samples ...sample) {
	t.Helper()
	for _, s := range samples {
		content.Tensors = append(content.Tensors, s.info)
	}
	o := &format.WriteOptions{}
	if kind != "" {
		o.Format = expect.Must(format.ByName(kind))
	}
	w, err := format.Create(path, &content, o)
	expect.OK(t, err)
	defer w.Abort()
	for _, s := range samples {
		expect.OK(t, w.WriteTensor(s.info.Name, bytes.NewReader(s.data)))
	}
	expect.OK(t, w.Close())
}

// save is put in a new directory.
func save(t *testing.T, file string, s schema.Schema, samples ...sample) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), file)
	put(t, "", path, s, samples...)
	return path
}

// model writes a model of a float32 matrix "w" and an int32 vector "labels" and returns its path.
func model(t *testing.T, kind, name string) string {
	t.Helper()
	path, s := filepath.Join(t.TempDir(), name), schema.Schema{}
	if kind == "mag" {
		s.Metadata = schema.Metadata{{Key: "epoch", Value: int64(7)}, {Key: "loss", Value: 0.25}}
	}
	put(t, kind, path, s, matrix("w"), of("labels", tensor.Int32, tensor.Shape{1}, []int32{9}))
	return path
}

// matrix is 1, 2, 3, 4.
func matrix(name string) sample {
	return of(name, tensor.Float32, tensor.Shape{2, 2}, []float32{1, 2, 3, 4})
}

// network writes a WIA model with metadata and a graph.
func network(t *testing.T) string {
	t.Helper()
	return save(t, "net.wia", schema.Schema{
		Metadata: schema.Metadata{{Key: "author", Value: "me"}},
		Graph: &schema.Graph{
			Inputs:  []schema.ValueInfo{{Name: "x", DType: tensor.Float32, Dims: schema.FixedDims(2, 2)}},
			Outputs: []schema.ValueInfo{{Name: "y", DType: tensor.Float32, Dims: schema.FixedDims(2, 2)}},
			Nodes:   []schema.Node{{Op: "Add", Inputs: []string{"x", "w"}, Outputs: []string{"y"}}},
		},
	}, matrix("w"))
}

// damaged writes a copy of the file with one bit changed.
func damaged(t *testing.T, path string, at int) string {
	t.Helper()
	b := expect.Read(t, path)
	b[at] ^= 1
	bad := filepath.Join(t.TempDir(), "bad"+filepath.Ext(path))
	expect.OK(t, os.WriteFile(bad, b, 0o666))
	return bad
}

// listing lists a directory.
func listing(t *testing.T, dir string) (names []string) {
	t.Helper()
	all, err := os.ReadDir(dir)
	expect.OK(t, err)
	for _, e := range all {
		names = append(names, e.Name())
	}
	return names
}

// prints compares what a command that succeeds prints.
func prints(t *testing.T, want string, args ...string) {
	t.Helper()
	if out, _ := tool(t, 0, args...); out != want {
		t.Errorf("%q (-want +got):\n%s", args, cmp.Diff(want, out))
	}
}
