# Compares the models of two directories field by field. Those in the third have one more metadata entry:
# compare.py ORIGINALS COPIES EDITED
import sys, os, onnx
def load(*path):
    m = onnx.ModelProto(); m.ParseFromString(open(os.path.join(*path), 'rb').read()); return m
def compare(name, was, copy):
    for f in was.DESCRIPTOR.fields:
        a, b = getattr(was, f.name), getattr(copy, f.name)
        if f.name == 'graph':
            for g in a.DESCRIPTOR.fields:
                if getattr(a, g.name) != getattr(b, g.name): print(name, 'graph.' + g.name, getattr(a, g.name), getattr(b, g.name))
        elif a != b: print(name, f.name, a, b)
    if was != copy: print(name, 'differs')
dirs = sys.argv[1:]
for name in sorted(os.listdir(dirs[0])):
    was = load(dirs[0], name)
    compare(name, was, load(dirs[1], name))
    edited = load(dirs[2], name)
    entries = [p for p in edited.metadata_props if p.key != 'weightmap']
    if len(entries) != len(edited.metadata_props) - 1: print(name, 'was not edited')
    del edited.metadata_props[:]
    edited.metadata_props.extend(entries)
    compare(name + ' edited', was, edited)
