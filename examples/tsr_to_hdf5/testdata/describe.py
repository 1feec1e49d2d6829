# Prints name, type, shape and data of the datasets of HDF5 files: describe.py FILE...
import h5py, sys
for path in sys.argv[1:]:
    with h5py.File(path, "r") as f:
        for name, d in f.items():
            print(name.encode().hex(), d.dtype.str, list(d.shape), d[()].tobytes().hex())
