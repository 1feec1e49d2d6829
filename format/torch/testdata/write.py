# Writes objects into a directory, in both containers and each protocol, with a description in index.json:
# write.py DIRECTORY
import collections, hashlib, json, sys, numpy, torch
out = sys.argv[1]
def describe(o, path, into):
    if isinstance(o, torch.Tensor):
        t = o.detach().contiguous()
        raw = (t.view(torch.int16) if t.dtype == torch.bfloat16 else t).numpy().tobytes()
        into['.'.join(map(str, path))] = {'dtype': str(t.dtype)[6:], 'shape': list(t.shape), 'sha256': hashlib.sha256(raw).hexdigest()}
    elif isinstance(o, dict):
        for k, v in o.items(): describe(v, path + (k,), into)
    elif isinstance(o, (list, tuple)):
        for i, v in enumerate(o): describe(v, path + (i,), into)
    return into
base = torch.arange(24, dtype=torch.float32)
net = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.BatchNorm2d(4), torch.nn.Linear(4, 2))
types = [torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8, torch.bool, torch.complex64, torch.complex128]
objects = {
    'checkpoint': {'epoch': 5, 'none': None, 'state_dict': net.state_dict(), 'optimizer': torch.optim.Adam(net.parameters()).state_dict(),
        'np': numpy.float64(2.5), 'int': numpy.int64(-7), 'size': torch.Size([1, 2]), 'device': torch.device('cpu'), 'dtype': torch.float32, 'big': 1 << 80},
    'strides': {'t': base.view(4, 6).t(), 'slice': base[3:9], 'step': base[::3], 'expand': base[:1].expand(5, 4), 'perm': base.view(2, 3, 4).permute(2, 0, 1),
        'scalar': torch.tensor(3.5), 'empty': torch.zeros(0, 3), 'shared': base.view(2, 12), 'part': base.view(4, 6)[1:3, 2:5]},
    'dtypes': {str(d)[6:]: torch.tensor([0, 1, 2, 3]).to(d) for d in types},
    'parameter': {'p': torch.nn.Parameter(torch.ones(2, 2))},
    'list': [torch.ones(2), (torch.zeros(1), {'x': torch.ones(3)}), {7: torch.ones(1)}],
    'lone': torch.ones(2, 3),
    'ordered': collections.OrderedDict(a=torch.ones(1), b=collections.OrderedDict(c=torch.zeros(2))),
}
index = {}
for name, o in objects.items():
    for container in ('zip', 'legacy'):
        for protocol in (2, 3, 4, 5):
            file = '%s_%s_%d.pt' % (name, container, protocol)
            torch.save(o, out + '/' + file, _use_new_zipfile_serialization=container == 'zip', pickle_protocol=protocol)
            index[file] = describe(o, (), {})
json.dump(index, open(out + '/index.json', 'w'))
