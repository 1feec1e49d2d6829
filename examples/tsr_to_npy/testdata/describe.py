# Prints type, shape, order and data of NumPy files: describe.py FILE...
import numpy, sys
for path in sys.argv[1:]:
    a = numpy.load(path)
    print(a.dtype.str, list(a.shape), a.flags.c_contiguous, a.tobytes().hex())
