# Reads initializers with the package onnx, using the protocol of internal/peers/peer.
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


print(json.dumps({"version": onnx.__version__}), flush=True)
for line in sys.stdin:
    try:
        answer = {"tensors": read(line.rstrip("\n"))}
    except Exception as e:
        answer = {"error": repr(e)}
    print(json.dumps(answer), flush=True)
