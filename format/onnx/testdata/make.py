# Writes a model with its data inside and as external data, and prints its tensors: make.py INSIDE BESIDE
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
