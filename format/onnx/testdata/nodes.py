# Writes the models of ONNX's own tests of its operators, and prints their number: nodes.py DIRECTORY
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
