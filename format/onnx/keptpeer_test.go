package onnx

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/convert"
)

// peerModels writes one model for each thing that a copy must keep.
const peerModels = `
import sys, os, onnx, numpy as np
from onnx import helper as h, numpy_helper, TensorProto as T
out = sys.argv[1]
def value(name, elem=T.FLOAT, shape=[2]): return h.make_tensor_value_info(name, elem, shape)
def model(nodes=None, inputs=None, outputs=None, init=None, opsets=None, **more):
    g = h.make_graph(nodes or [h.make_node('Add', ['x', 'w'], ['y'])], 'g', inputs or [value('x')], outputs or [value('y')],
        init if init is not None else [numpy_helper.from_array(np.float32([1, 2]), 'w')])
    return h.make_model(g, opset_imports=opsets or [h.make_opsetid('', 15)], producer_name='peer', **more)
def save(name, m):
    open(os.path.join(out, name + '.onnx'), 'wb').write(m.SerializeToString())
f = h.make_function('mine', 'Twice', ['a'], ['b'], [h.make_node('Add', ['a', 'a'], ['b'], doc_string='doc')], [h.make_opsetid('', 15)])
m = model([h.make_node('Twice', ['x'], ['y'], domain='mine')], init=[], opsets=[h.make_opsetid('', 15), h.make_opsetid('mine', 1)], functions=[f])
m.ir_version = 8
onnx.checker.check_model(m)
save('functions', m)
kinds = {'tensor': h.make_tensor_type_proto(T.FLOAT, [2, 'n', None])}
for code, name in [(c, n) for n, c in T.DataType.items() if c]: kinds['tensor ' + name] = h.make_tensor_type_proto(code, None)
kinds['sequence'] = h.make_sequence_type_proto(kinds['tensor'])
kinds['optional'] = h.make_optional_type_proto(kinds['sequence'])
kinds['map'] = onnx.TypeProto(); kinds['map'].map_type.key_type = T.STRING; kinds['map'].map_type.value_type.CopyFrom(kinds['tensor'])
kinds['sparse'] = onnx.TypeProto(); kinds['sparse'].sparse_tensor_type.elem_type = T.FLOAT
kinds['denotation'] = h.make_tensor_type_proto(T.FLOAT, [2]); kinds['denotation'].denotation = 'TENSOR'; kinds['denotation'].tensor_type.shape.dim[0].denotation = 'DATA_BATCH'
for name, typ in kinds.items(): save('type ' + name, model([h.make_node('Identity', ['x'], ['y'])], [h.make_value_info('x', typ)], [h.make_value_info('y', typ)], []))
m = model(); m.doc_string = 'of the model'; m.graph.doc_string = 'of the graph'; m.graph.node[0].doc_string = 'of a node'; m.graph.input[0].doc_string = 'of an input'; m.graph.initializer[0].doc_string = 'of a tensor'
m.metadata_props.add(key='k', value='v'); m.model_version = 3; m.domain = 'd'; m.producer_version = ''
save('docs', m)
m = model(); m.graph.value_info.append(value('t')); a = m.graph.quantization_annotation.add(tensor_name='x'); a.quant_parameter_tensor_names.add(key='SCALE_TENSOR', value='w')
save('annotations', m)
m = model(); i = m.training_info.add(); i.algorithm.CopyFrom(m.graph); i.update_binding.add(key='w', value='y'); i.initialization.name = 'i'
save('training', m)
save('operators', model([h.make_node('CumProd', ['x'], ['a'], n=[1, 2]), h.make_node('Later', ['a'], ['y'], domain='com.example', t=h.make_tensor('t', T.STRING, [2], [b'a', b'']), s='text', g=3.5)], opsets=[h.make_opsetid('', 99), h.make_opsetid('com.example', 7)]))
n = h.make_node('Op', ['x'], ['y']); n.attribute.add(name='empty'); n.attribute.add(name='ints', type=onnx.AttributeProto.INTS); s = n.attribute.add(name='sparse', type=onnx.AttributeProto.SPARSE_TENSOR).sparse_tensor; s.values.CopyFrom(h.make_tensor('s', T.FLOAT, [1], [3.])); s.indices.CopyFrom(h.make_tensor('', T.INT64, [1], [2])); s.dims.append(9); n.attribute.add(name='types', type=onnx.AttributeProto.TYPE_PROTOS).type_protos.add()
save('attributes', model([n]))
save('strings', model([h.make_node('Identity', ['w'], ['y'])], [], [value('y', T.STRING)], [h.make_tensor('w', T.STRING, [2], [b'ab', b'\xff'])]))
def branch(name): return h.make_graph([h.make_node('Add', ['x', 'c'], [name])], name, [], [value(name)], [h.make_tensor('c', T.FLOAT, [2], [7., 8.])], doc_string='branch')
save('subgraphs', model([h.make_node('If', ['b'], ['y'], then_branch=branch('t'), else_branch=branch('e'))], [value('x'), value('b', T.BOOL, [])], None, []))
m = model(); s = m.graph.sparse_initializer.add(); s.values.CopyFrom(h.make_tensor('s', T.FLOAT, [1], [3.])); s.indices.CopyFrom(h.make_tensor('', T.INT64, [1], [2])); s.dims.append(9)
save('sparse tensor', m)
print(len(os.listdir(out)))
`

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
// with other metadata; of ONNX's own models of all operators too.
func TestPeerKept(t *testing.T) {
	for _, tt := range []struct{ name, script string }{{"things to keep", peerModels}, {"ONNX's models", nodeModels}} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.name == "ONNX's models" && testing.Short() {
				t.Skip("a thousand models")
			}
			in, out, edited := t.TempDir(), t.TempDir(), t.TempDir()
			count := python(t, tt.script, in)
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
			if diff := gocmp.Diff("", python(t, compareModels, in, out, edited)); diff != "" {
				t.Error(diff)
			}
			t.Logf("%s models", strings.TrimSpace(count))
		})
	}
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
