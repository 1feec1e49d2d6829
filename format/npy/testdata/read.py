# Compares the arrays of a directory with their .raw files, and prints how many there are: read.py DIRECTORY
import os, sys; os.chdir(sys.argv[1])
import numpy as np, glob, io, zipfile
z = np.load("all.npz")
n = 0
for path in glob.glob("*.npy"):
    name = path[:-4]
    raw = open(name + ".raw", "rb").read()
    a = np.load(path)
    assert a.tobytes() == raw and z[name].tobytes() == raw, name
    assert a.dtype == z[name].dtype and a.shape == z[name].shape, name
    assert a.dtype.str[1:] == name[:-1], name
    if a.size:
        m = np.load(path, mmap_mode="r")
        assert isinstance(m, np.memmap) and m.offset % 64 == 0 and m.tobytes() == raw, name
    b = io.BytesIO()
    np.save(b, a)
    old = tuple(map(int, np.__version__.split(".")[:2])) < (1, 24)
    assert old or b.getvalue() == open(path, "rb").read(), (name, b.getvalue(), open(path, "rb").read())
    n += 1
assert list(z["größe/../x"]) == [0, 1, 2]
assert zipfile.ZipFile("all.npz").testzip() is None
print(n, len(z.files))
