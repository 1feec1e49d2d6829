# Writes random nests of values into a directory, in each container and protocol, with the tensors in them in index.json:
# nests.py DIRECTORY SEED COUNT
import argparse, collections, datetime, enum, hashlib, json, os, pathlib, pickle, random, sys, warnings, numpy, torch
warnings.simplefilter('ignore')
out, seed, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
random.seed(seed)
torch.manual_seed(seed)

class Foo:
    pass

class Slots:
    __slots__ = ('u', 'v')

class Both(Slots):
    pass

class List(list):
    pass

class Dict(dict):
    pass

class Color(enum.Enum):
    RED = 1

class State:
    def __getstate__(self): return tuple(self.__dict__['t'])
    def __setstate__(self, t): self.t = t

class Reduced:
    def __init__(self, *args): self.args = args
    def __reduce__(self): return Reduced, self.args

types = [torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8, torch.bool, torch.complex64, torch.complex128]
shared = torch.arange(24, dtype=torch.float32)

def tensor():
    return random.choice([
        lambda: torch.randint(0, 9, [random.randrange(4) for _ in range(random.randrange(4))]).to(random.choice(types)),
        lambda: shared.view(4, 6).t(), lambda: shared[3:9], lambda: shared[::3], lambda: shared[:1].expand(5, 4), lambda: shared.view(2, 3, 4).permute(2, 0, 1),
        lambda: torch.nn.Parameter(torch.ones(2, 2))])()

def array():
    a = numpy.arange(random.choice([0, 1, 6])).astype(random.choice(['f8', 'f4', '>f4', 'f2', '>i8', 'i4', 'u2', 'i1', 'b1', 'c16']))
    a = a.reshape(random.choice([(-1, 1), (1, -1), (-1,)] + [(2, 3), (3, 2)] * (a.size == 6)))
    return numpy.asfortranarray(a) if random.random() < .3 else a

def plain():
    return random.choice([1, -5, 1 << 70, 2.5, True, None, 'text', 'é\U0001f600', b'bytes', bytearray(b'ab'), 1j, {1, 2}, frozenset([3]), pathlib.PurePosixPath('/a/b'), datetime.date(2024, 1, 2),
        Color.RED, Foo, os.system, numpy.float32(3), numpy.dtype('f4'), torch.float16, torch.device('cpu'), torch.Size([1, 2]), collections.Counter('aab'), Foo(), '\ud800', range(3),
        torch.quantize_per_tensor(torch.ones(2), .1, 1, torch.quint8), torch.eye(3).to_sparse(), torch.empty(3, device='meta')])

number = 0
def key():
    global number
    number += 1
    return random.choice([lambda: 'k%d' % number, lambda: number, lambda: number + .5, lambda: b'b%d' % number, lambda: (number, 'x')])()

def nest(depth):
    kind = random.randrange(16) if depth > 0 else random.randrange(4)
    many = lambda: [nest(depth - 1) for _ in range(random.randrange(4))]
    if kind < 2: return tensor()
    if kind == 2: return plain()
    if kind == 3: return array()
    if kind == 4: return many()
    if kind == 5: return tuple(many())
    if kind == 6: return List(many())
    if kind in (7, 8, 9):
        d = {7: dict, 8: collections.OrderedDict, 9: Dict}[kind]()
        for v in many(): d[key()] = v
        return d
    if kind in (10, 11):
        o = [Foo, argparse.Namespace][kind - 10]()
        for v in many(): setattr(o, 'a%d' % len(vars(o)), v)
        return o
    if kind in (12, 13):
        o = [Slots, Both][kind - 12]()
        o.u = nest(depth - 1)
        if kind == 13: o.w = nest(depth - 1)
        return o
    if kind == 14:
        o = torch.nn.Linear(2, 1)
        o.extra = nest(depth - 1)
        o.sub = torch.nn.BatchNorm1d(1)
        return o
    return random.choice([lambda: Reduced(*many()), lambda: objects(many())])()

def objects(values):
    a = numpy.empty(len(values), dtype=object)
    for i, v in enumerate(values): a[i] = v
    return a

def name(k, i):
    if isinstance(k, bytes): return k.decode()
    return str(k) if isinstance(k, (str, int, float, bool, type(None))) else '?%d' % i

def put(into, path, dtype, shape, raw):
    n = '.'.join(path)
    assert n not in into
    into[n] = {'dtype': dtype, 'shape': list(shape), 'sha256': hashlib.sha256(raw).hexdigest()}

def find(o, path, into):
    if isinstance(o, torch.Tensor):
        if o.is_quantized or o.is_sparse or o.device.type == 'meta': return
        t = o.detach().contiguous()
        put(into, path, str(t.dtype)[6:], t.shape, (t.view(torch.int16) if t.dtype == torch.bfloat16 else t).numpy().tobytes())
    elif isinstance(o, numpy.ndarray) and o.dtype == object:
        for i, v in enumerate(o): find(v, path + (str(i),), into)
    elif isinstance(o, numpy.ndarray):
        put(into, path, o.dtype.name, o.shape, o.astype(o.dtype.newbyteorder('<')).tobytes())
    elif isinstance(o, dict):
        for i, (k, v) in enumerate(o.items()): find(v, path + (name(k, i),), into)
    elif isinstance(o, (list, tuple)):
        for i, v in enumerate(o): find(v, path + (str(i),), into)
    elif isinstance(o, Reduced):
        find(o.args, path, into)
    if isinstance(o, (Foo, argparse.Namespace, Slots, torch.nn.Module)):
        for k, v in getattr(o, '__dict__', {}).items():
            find(v, path if k in ('_parameters', '_buffers', '_modules') else path + (k,), into)
        for k in ('u', 'v'):
            if isinstance(o, Slots) and hasattr(o, k): find(getattr(o, k), path + (k,), into)
    return into

index = {}
def wrote(file, write, want):
    try:
        write(out + '/' + file)
        index[file] = want
    except Exception: # a value that this protocol or container cannot have
        if os.path.exists(out + '/' + file): os.remove(out + '/' + file)
for i in range(count):
    o = nest(5)
    want = find(o, (), {}) or {}
    for p in range(6):
        for container in ('zip', 'legacy'):
            wrote('%d_%s_%d.pt' % (i, container, p), lambda f: torch.save(o, f, _use_new_zipfile_serialization=container == 'zip', pickle_protocol=p), want)
        if want: wrote('%d_%d.pkl' % (i, p), lambda f: pickle.dump(o, open(f, 'wb'), protocol=p), want)
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = torch.nn.Conv2d(1, 2, 3)
        self.norm = torch.nn.BatchNorm2d(2)
    def forward(self, x): return self.norm(self.conv(x))
net = Net().eval()
want = find(dict(net.state_dict()), (), {})
torch.jit.script(net).save(out + '/script.pt')
torch.jit.trace(net, torch.ones(1, 1, 5, 5)).save(out + '/trace.pt')
index['script.pt'] = index['trace.pt'] = want
json.dump(index, open(out + '/index.json', 'w'))
