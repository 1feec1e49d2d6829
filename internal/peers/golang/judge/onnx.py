# Reads initializers with the package onnx. The argument is a path, the output an answer of package judge.
import base64, json, sys
import numpy, onnx, onnx.numpy_helper


def read(path):
    return [tensor(t) for t in onnx.load(path).graph.initializer]


def tensor(t):
    a = onnx.numpy_helper.to_array(t)
    if t.data_type == onnx.TensorProto.BFLOAT16 and a.dtype == numpy.float32:
        a = (a.view("<u4") >> 16).astype("<u2")  # older versions widen bfloat16
    little = a.astype(a.dtype.newbyteorder("<"))
    return {"name": t.name, "data": base64.b64encode(little.tobytes()).decode()}


answer = {"version": onnx.__version__}
try:
    answer["tensors"] = read(sys.argv[1])
except Exception as e:
    answer["error"] = repr(e)
print(json.dumps(answer))
