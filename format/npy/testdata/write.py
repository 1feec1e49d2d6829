# Writes arrays of every dtype, order and layout into a directory: write.py DIRECTORY
import os, sys; os.chdir(sys.argv[1])
import numpy as np
all = {}
for d in ["?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16"]:
    for o in "<>":
        for n, s in {"s": (), "v": (5,), "m": (3, 4), "t": (2, 3, 4), "u": (2, 1, 3, 4, 5), "e": (2, 0, 3)}.items():
            a = (np.arange(int(np.prod(s))) % 97 - (40 if d[0] in "ifc" else 0)).reshape(s).astype(np.dtype(d).newbyteorder(o))
            for f in "CF":
                key = "_".join([d.replace("?", "b1"), "le" if o == "<" else "be", n, f])
                all[key] = np.array(a, order=f)
                open(key + ".raw", "wb").write(np.ascontiguousarray(a).astype(a.dtype.newbyteorder("<")).tobytes())
                np.save(key + ".npy", all[key])
np.savez("stored.npz", **all)
np.savez_compressed("packed.npz", **all)
np.savez("empty.npz")
class pipe:
    def __init__(self, f): self.f = f
    def write(self, b): return self.f.write(b)
    def flush(self): self.f.flush()
    def read(self, n=-1): raise OSError
np.savez(pipe(open("piped.npz", "wb")), **all)
