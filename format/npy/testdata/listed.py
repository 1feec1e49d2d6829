# Prints dtype, shape and order of arrays that only NumPy reads: listed.py DIRECTORY
import os, sys; os.chdir(sys.argv[1])
import numpy as np
z = np.load("copy.npz", allow_pickle=False)
for n in ["text", "records", "columns", "none"]:
    a = z[n]
    print(n, a.dtype.str if a.dtype.names is None else a.dtype.descr, a.shape, a.flags.f_contiguous and a.ndim > 1)
