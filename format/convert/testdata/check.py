# Runs ONNX's checker and strict shape inference on models: check.py MODEL...
import sys, onnx
from onnx import shape_inference
for path in sys.argv[1:]:
    onnx.checker.check_model(path, full_check=True)
    m = onnx.load(path)
    i = shape_inference.infer_shapes(m, check_type=True, strict_mode=True)
    known = {v.name for v in i.graph.value_info} | {o.name for o in m.graph.output}
    for n in m.graph.node:
        assert set(n.output) <= known, (path, n.op_type, n.output)
