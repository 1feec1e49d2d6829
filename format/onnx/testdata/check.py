# Checks a model, infers its shapes, and prints its parts: check.py MODEL
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
