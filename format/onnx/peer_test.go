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
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/internal/testhost"
	"github.com/weightmap/weightmap/tensor"
)

const checkScript = `
import sys, os, onnx
from onnx import numpy_helper, shape_inference
m = onnx.load(sys.argv[1])
onnx.checker.check_model(sys.argv[1], full_check=True)
onnx.checker.check_model(m)
i = shape_inference.infer_shapes(m, check_type=True, strict_mode=True)
print(m.ir_version, [(o.domain, o.version) for o in m.opset_import], [(p.key, p.value) for p in m.metadata_props])
print([(v.name, [d.dim_value for d in v.type.tensor_type.shape.dim]) for v in i.graph.value_info])
for t in m.graph.initializer:
    print(t.name, list(t.dims), t.data_type, numpy_helper.to_array(t).tobytes().hex())
for n in m.graph.node:
    print(n.op_type, [(a.name, onnx.helper.get_attribute_value(a)) for a in n.attribute if a.type != 4])
`

// peerPlan is a model whose shapes can be inferred.
func peerPlan() *format.Plan {
	return &format.Plan{
		Metadata: format.Metadata{{Key: keyProducerName, Value: "weightmap"}, {Key: "k", Value: "v"}},
		Tensors: []tensor.Info{
			{Name: "w", DType: tensor.Float32, Shape: tensor.Shape{3, 2}}, {Name: "b", DType: tensor.Float32, Shape: tensor.Shape{2}},
			{Name: "h", DType: tensor.Float16, Shape: tensor.Shape{1}}, {Name: "l", DType: tensor.Int64}, {Name: "none", DType: tensor.Float32, Shape: tensor.Shape{0, 2}},
		},
		Graph: &format.Graph{
			Name:    "main",
			Inputs:  []format.ValueInfo{{Name: "x", DType: tensor.Float32, Dims: []format.Dim{{Size: 4}, {Size: 3}}}},
			Outputs: []format.ValueInfo{{Name: "y", DType: tensor.Float32, Dims: []format.Dim{{Size: 4}, {Size: 2}}}},
			Nodes: []format.Node{
				{Name: "gemm", Op: "Gemm", Inputs: []string{"x", "w", "b"}, Outputs: []string{"g"}, Attributes: []format.Attribute{{Name: "alpha", Value: float32(0.5)}}},
				{Op: "Softmax", Inputs: []string{"g"}, Outputs: []string{"y"}, Attributes: []format.Attribute{{Name: "axis", Value: int64(0)}}},
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

// written writes a plan to a file in a directory of its own.
func written(t *testing.T, p *format.Plan, o *WriteOptions) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "m.onnx")
	w, err := Create(path, p, o)
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
	for name, o := range map[string]*WriteOptions{"inside": nil, "beside": {ExternalFrom: 8}} {
		t.Run(name, func(t *testing.T) {
			expect.Equal(t, want, testhost.Python(t, "onnx", checkScript, written(t, peerPlan(), o)))
		})
	}
}

const makeScript = `
import sys, numpy as np, onnx
from onnx import helper, numpy_helper, TensorProto as T
arrays = [np.arange(6, dtype=np.float32).reshape(2, 3), np.array([1, -2], np.int64), np.array(True), np.zeros((0, 3), np.float16), np.array([1+2j], np.complex64)]
init = [numpy_helper.from_array(a, 'a%d' % i) for i, a in enumerate(arrays)]
init += [helper.make_tensor('float16', T.FLOAT16, [2], [1.5, -2]), helper.make_tensor('bfloat16', T.BFLOAT16, [2], [1.5, -2]), helper.make_tensor('int8', T.INT8, [3], [-1, 0, 127]),
  helper.make_tensor('bool', T.BOOL, [2], [True, False]), helper.make_tensor('uint64', T.UINT64, [1], [2**64-1]), helper.make_tensor('uint32', T.UINT32, [1], [2**32-1]),
  helper.make_tensor('float64', T.DOUBLE, [], [3.25]), helper.make_tensor('complex64', T.COMPLEX64, [1], [1+2j]), helper.make_tensor('int16', T.INT16, [2], [-2, 300]), helper.make_tensor('text', T.STRING, [2], [b'ab', b''])]
sub = helper.make_graph([helper.make_node('Identity', ['c'], ['o'])], 'then', [], [helper.make_tensor_value_info('o', T.FLOAT, [2])], [helper.make_tensor('c', T.FLOAT, [2], [7., 8.])])
alt = helper.make_graph([helper.make_node('Constant', [], ['p'], value=helper.make_tensor('v', T.FLOAT, [2], [0., 1.]))], 'else', [], [helper.make_tensor_value_info('p', T.FLOAT, [2])])
g = helper.make_graph([helper.make_node('If', ['a2'], ['y'], then_branch=sub, else_branch=alt)], 'g', [], [helper.make_tensor_value_info('y', T.FLOAT, [2])], init)
m = helper.make_model(g, opset_imports=[helper.make_opsetid('', 17)], producer_name='peer')
onnx.checker.check_model(m)
onnx.save(m, sys.argv[1])
onnx.save(m, sys.argv[2], save_as_external_data=True, location='w.bin', size_threshold=0)
for t in init:
    if t.name == 'bfloat16': print(t.name, 'c03f00c0') # which NumPy lacks
    elif t.name == 'complex64': print(t.name, '0000803f00000040') # which to_array of 1.12 fails on
    elif t.name != 'text': print(t.name, numpy_helper.to_array(t).tobytes().hex())
`

// TestReadsPeer reads what python3-onnx writes.
func TestReadsPeer(t *testing.T) {
	testhost.NeedTimes(t)
	dir := t.TempDir()
	paths := []string{filepath.Join(dir, "inside.onnx"), filepath.Join(dir, "beside.onnx")}
	want := testhost.Python(t, "onnx", makeScript, paths...)
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
		if diff := cmp.Diff([]OperatorSet{{"", 17}}, f.OperatorSets()); diff != "" || f.IRVersion() != 8 {
			t.Error(f.IRVersion(), diff)
		}
		g, err := f.Graph()
		expect.OK(t, err)
		scope := map[string][]string{}
		for _, a := range g.Nodes[0].Attributes {
			scope[a.Name] = a.Value.(*format.Graph).Initializers
		}
		expect.Equal(t, map[string][]string{"then_branch": {"c"}, "else_branch": nil}, scope)
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
		p := &format.Plan{Tensors: []tensor.Info{{Name: strings.Repeat("n", n+1), DType: tensor.Float64, Shape: tensor.Shape{3}}, {Name: "-", DType: tensor.Uint8, Shape: tensor.Shape{1}}}}
		f, err := Open(written(t, p, nil), nil)
		expect.OK(t, err)
		for _, v := range f.Tensors() {
			if off := v.Info().Offset; off%alignment != 0 {
				t.Errorf("a name of %d bytes: data at %d", n+1, off)
			}
		}
		f.Close()
	}
	p := &format.Plan{Tensors: []tensor.Info{{Name: "s", DType: tensor.Int8, Shape: tensor.Shape{9}}, {Name: "l", DType: tensor.Int8, Shape: tensor.Shape{5000}}, {Name: "in", DType: tensor.Int8, Shape: tensor.Shape{1}}}}
	path := written(t, p, &WriteOptions{ExternalFrom: 9, External: "d/w.bin"})
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

// nodeModels writes the models of ONNX's own tests of its operators.
const nodeModels = `
import sys, os, warnings
warnings.simplefilter('ignore')
import numpy as np
for name, t in dict(float=float, int=int, bool=bool, object=object, str=str).items():
    if name not in np.__dict__: setattr(np, name, t)
from onnx.backend.test.case.node import collect_testcases
cases = collect_testcases(None) if collect_testcases.__code__.co_argcount else collect_testcases()
for c in cases:
    if c.model is not None: open(os.path.join(sys.argv[1], c.name + '.onnx'), 'wb').write(c.model.SerializeToString())
print(len(os.listdir(sys.argv[1])))
`

// compareModels compares the models of two directories field by field. In the third they have
// an entry of metadata more.
const compareModels = `
import sys, os, onnx
def load(*path):
    m = onnx.ModelProto(); m.ParseFromString(open(os.path.join(*path), 'rb').read()); return m
def compare(name, was, copy):
    for f in was.DESCRIPTOR.fields:
        a, b = getattr(was, f.name), getattr(copy, f.name)
        if f.name == 'graph':
            for g in a.DESCRIPTOR.fields:
                if getattr(a, g.name) != getattr(b, g.name): print(name, 'graph.' + g.name, getattr(a, g.name), getattr(b, g.name))
        elif a != b: print(name, f.name, a, b)
    if was != copy: print(name, 'differs')
dirs = sys.argv[1:]
for name in sorted(os.listdir(dirs[0])):
    was = load(dirs[0], name)
    compare(name, was, load(dirs[1], name))
    edited = load(dirs[2], name)
    entries = [p for p in edited.metadata_props if p.key != 'weightmap']
    if len(entries) != len(edited.metadata_props) - 1: print(name, 'was not edited')
    del edited.metadata_props[:]
    edited.metadata_props.extend(entries)
    compare(name + ' edited', was, edited)
`

// TestPeerKept: python3-onnx reads in a copy what it wrote into the original, and in one
// with other metadata, of ONNX's own models of all operators.
func TestPeerKept(t *testing.T) {
	if testing.Short() {
		t.Skip("a thousand models")
	}
	in, out, edited := t.TempDir(), t.TempDir(), t.TempDir()
	count := testhost.Python(t, "onnx", nodeModels, in)
	files, err := os.ReadDir(in)
	if err != nil || len(files) < 20 {
		t.Fatal(count, err)
	}
	for _, f := range files {
		path := filepath.Join(in, f.Name())
		if _, err := convert.File(path, filepath.Join(out, f.Name()), &convert.Options{WriteOptions: format.WriteOptions{NoSync: true}, Verify: true}); err != nil {
			t.Error(err)
		}
		if err := edit(path, filepath.Join(edited, f.Name())); err != nil {
			t.Error(err)
		}
	}
	if t.Failed() {
		return
	}
	expect.Equal(t, "", testhost.Python(t, "onnx", compareModels, in, out, edited))
	t.Logf("%s models", strings.TrimSpace(count))
}

// edit writes a model with another entry of metadata, as weightmap set does.
func edit(in, out string) error {
	m, err := format.Open(in, nil)
	if err != nil {
		return err
	}
	defer m.Close()
	p, err := format.PlanOf(m)
	if err != nil {
		return err
	}
	p.Metadata = append(p.Metadata, format.Entry{Key: "weightmap", Value: "1"})
	w, err := format.Create(formatName, out, p, &format.WriteOptions{NoSync: true})
	if err != nil {
		return err
	}
	return format.Copy(w, m)
}
