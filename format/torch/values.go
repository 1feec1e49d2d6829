package torch

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/tensor"
)

// The types of a pickle's values besides nil, bool, int64, float64 and string.
type (
	tuple []any
	list  struct{ items []any }
	dict  struct{ items []any } // alternating keys and values
	raw   []byte
	// opaque is a value that is not interpreted; its text names the kind.
	opaque string
	global struct{ module, name string }
	// numpyType is a NumPy dtype, such as "f8".
	numpyType struct{ code string }
)

// as returns v as a T and fails if it has another type.
func as[T any](p *pickle, v any) T {
	t, ok := v.(T)
	if !ok {
		p.failf(format.ErrCorrupt, "a value of type %s is not as torch.save writes it", kindOf(v))
	}
	return t
}

// storage is a block of elements that tensors share.
type storage struct {
	key   string
	elem  *elem
	first int64 // index of the first element in the data at key
	count int64 // number of elements
	total int64 // number of elements in the data at key
}

// rebuilt is a tensor over a storage.
type rebuilt struct {
	storage *storage
	elem    *elem
	offset  int64 // in elements
	shape   tensor.Shape
	stride  []int64 // nil if the elements are in row-major order without gaps
	size    int64   // in bytes
	extent  int64   // distance from the first element to the end of the last, in elements
}

// kindOf describes a value in errors and notes.
func kindOf(v any) string {
	switch v := v.(type) {
	case opaque:
		return string(v)
	case global:
		return v.module + "." + v.name
	}
	return kinds[fmt.Sprintf("%T", v)]
}

var kinds = map[string]string{
	"<nil>": "None", "bool": "bool", "int64": "int", "float64": "float", "string": "str", "torch.tuple": "tuple", "*torch.list": "list",
	"*torch.dict": "dict", "torch.raw": "bytes", "*torch.storage": "storage", "*torch.rebuilt": "tensor", "*torch.numpyType": "dtype",
}

// function is a callable with least to most arguments.
type function struct {
	least, most int
	call        func(p *pickle, args tuple) any
}

// many allows any number of arguments, since later versions of torch may add some.
const many = math.MaxInt

// functions holds the globals that a pickle may call.
var functions = map[global]function{
	{"collections", "OrderedDict"}:                    {0, 1, orderedDict},
	{"torch._utils", "_rebuild_tensor_v2"}:            {6, many, rebuildTensor},
	{"torch._utils", "_rebuild_tensor_v3"}:            {7, many, rebuildTyped},
	{"torch._utils", "_rebuild_parameter"}:            {3, many, rebuildParameter},
	{"torch._utils", "_rebuild_parameter_with_state"}: {3, many, rebuildParameter},
	{"torch", "Size"}:                                 {1, 1, size},
	{"torch", "device"}:                               {1, 2, device},
	{"numpy", "dtype"}:                                {1, many, numpyDType},
	{"numpy.core.multiarray", "scalar"}:               {2, 2, numpyScalar},
	{"numpy._core.multiarray", "scalar"}:              {2, 2, numpyScalar},
	{"_codecs", "encode"}:                             {2, 2, encode}, // makes the bytes of NumPy's scalars in protocol 2
}

// known reports whether g is a known global.
func (g global) known() bool {
	return functions[g].call != nil || g.storageType() != nil || g.module == "torch" && elems[g.name] != nil
}

// storageType returns the element type of a storage class, or nil for another global.
func (g global) storageType() *elem {
	name, ok := strings.CutSuffix(g.name, "Storage")
	switch {
	case ok && g.module == "torch.storage" && name == "Typed":
		return elems["uint8"]
	case ok && (g.module == "torch" || g.module == "torch.cuda" || g.module == "torch.storage" && name == "Untyped"):
		return elems[storageNames[name]]
	}
	return nil
}

// call returns the result of a known function.
func (p *pickle) call(callee any, args tuple) any {
	g, _ := callee.(global)
	f := functions[g]
	if f.call == nil {
		p.failf(format.ErrUnsupported, "it calls %.200q", kindOf(callee))
	} else if len(args) < f.least || len(args) > f.most {
		p.failf(format.ErrCorrupt, "a call of %s.%s is not as torch.save writes it", g.module, g.name)
	}
	if !p.ok() {
		return nil
	}
	return f.call(p, args)
}

// build sets the state of the value on top of the stack. An OrderedDict's state is its attributes,
// which no tensor needs; a dtype's is its byte order.
func (p *pickle) build(state any) {
	switch v := p.top().(type) {
	case *dict, *rebuilt:
	case *numpyType:
		if t, ok := state.(tuple); ok && len(t) > 1 && t[1] == any(">") {
			v.code = ">" + v.code
		}
	default:
		p.failf(format.ErrUnsupported, "it sets the state of a value of type %.200q", kindOf(v))
	}
}

// persistent returns the storage for a persistent id: ("storage", class, key, location, count). In
// the legacy container a sixth value is nil or the (key, offset, count) of a view.
func (p *pickle) persistent(id any) any {
	t := as[tuple](p, id)
	if len(t) != 5 && !p.legacy || len(t) != 6 && p.legacy {
		p.failf(format.ErrCorrupt, "a persistent id of %d values is not as torch.save writes it", len(t))
	}
	if !p.ok() {
		return nil
	}
	e, key, count := as[global](p, t[1]).storageType(), as[string](p, t[2]), as[int64](p, t[4])
	if e == nil || t[0] != any("storage") || count < 0 || count > math.MaxInt64/e.size {
		p.failf(format.ErrCorrupt, "a persistent id is not as torch.save writes it")
	}
	s := &storage{key: key, elem: e, count: count, total: count}
	root := p.roots[key]
	if root == nil && p.charge(rootBytes) {
		p.roots[key] = s
	}
	if !p.legacy || !p.ok() {
		return s
	}
	if root != nil && (root.elem.size != e.size || root.total != count) {
		p.failf(format.ErrCorrupt, "storage %.200q has %d elements here, %d before", key, count, root.total)
	}
	if t[5] != nil {
		view := p.numbers(t[5], 1)
		if len(view) != 2 || view[1] > count || view[0] > count-view[1] {
			p.failf(format.ErrCorrupt, "the view of a persistent id leaves its storage")
			return nil
		}
		s.first, s.count = view[0], view[1]
	}
	return s
}

// orderedDict accepts no argument or a list of pairs.
func orderedDict(p *pickle, args tuple) any {
	d := new(dict)
	if len(args) == 0 {
		return d
	}
	pairs := as[*list](p, args[0])
	if !p.ok() || !p.charge(2*itemBytes*int64(len(pairs.items))) {
		return nil
	}
	for _, item := range pairs.items {
		if l, ok := item.(*list); ok {
			item = tuple(l.items)
		}
		pair, _ := item.(tuple)
		if len(pair) != 2 {
			p.failf(format.ErrCorrupt, "a pair of type %s is not as torch.save writes it", kindOf(item))
		}
		d.items = append(d.items, pair...)
	}
	return d
}

// rebuildTensor accepts (storage, offset, shape, stride, requires_grad, hooks).
func rebuildTensor(p *pickle, args tuple) any { return p.rebuild(args, nil) }

// rebuildTyped is rebuildTensor with a dtype after the hooks; the storage is untyped.
func rebuildTyped(p *pickle, args tuple) any {
	g := as[global](p, args[6])
	e := elems[g.name]
	if e == nil {
		p.failf(format.ErrCorrupt, "the dtype of a tensor is not as torch.save writes it")
	}
	return p.rebuild(args, e)
}

// rebuild returns a tensor of type e, or of its storage's type if e is nil.
func (p *pickle) rebuild(args tuple, e *elem) any {
	t := &rebuilt{storage: as[*storage](p, args[0]), elem: e, offset: as[int64](p, args[1]), shape: p.numbers(args[2], 0), stride: p.numbers(args[3], 0)}
	if t.offset < 0 || len(t.shape) != len(t.stride) || len(t.shape) > maxRank {
		p.failf(format.ErrCorrupt, "a tensor at %d of rank %d with %d strides is not as torch.save writes it", t.offset, len(t.shape), len(t.stride))
	}
	if !p.ok() {
		return nil
	}
	if e == nil {
		t.elem = t.storage.elem
	}
	if err := t.measure(); err != nil {
		p.failf(format.ErrCorrupt, "a tensor: %w", err)
	}
	return t
}

// numbers returns the elements of a tuple from index from on, which must be non-negative integers.
func (p *pickle) numbers(v any, from int) []int64 {
	t := as[tuple](p, v)
	if len(t) < from || !p.charge(8*int64(len(t))) {
		return nil
	}
	out := make([]int64, len(t)-from)
	for i, v := range t[from:] {
		if out[i] = as[int64](p, v); out[i] < 0 {
			p.failf(format.ErrCorrupt, "%d is not as torch.save writes it", out[i])
		}
	}
	return out
}

// measure computes the extent of a tensor and checks it against the storage.
func (t *rebuilt) measure() (err error) {
	t.size, err = (&tensor.Info{DType: t.elem.dtype, Encoding: t.elem.enc, Shape: t.shape}).ByteSize()
	if err != nil || t.size == 0 {
		return err
	}
	have := t.storage.count * t.storage.elem.size / t.elem.size // in elements of the tensor's type
	last := t.offset
	contiguous, packed := true, int64(1) // packed is the stride without gaps
	for i := len(t.shape) - 1; i >= 0; i-- {
		d, stride := t.shape[i], t.stride[i]
		if d > 1 && stride > (math.MaxInt64-last)/(d-1) {
			return fmt.Errorf("shape %v with strides %v leaves its storage", t.shape, t.stride)
		}
		last += (d - 1) * stride
		contiguous = contiguous && (d == 1 || stride == packed)
		packed *= d
	}
	if last >= have {
		return fmt.Errorf("shape %v with strides %v ends at element %d of a storage of %d", t.shape, t.stride, last, have)
	}
	if contiguous {
		t.stride = nil
	}
	t.extent = last - t.offset + 1
	return nil
}

// rebuildParameter accepts (tensor, requires_grad, hooks) and an optional state.
func rebuildParameter(p *pickle, args tuple) any { return as[*rebuilt](p, args[0]) }

func size(p *pickle, args tuple) any { return as[tuple](p, args[0]) }

// device accepts a kind and an optional index.
func device(p *pickle, args tuple) any {
	kind := as[string](p, args[0])
	if i, ok := args[len(args)-1].(int64); ok {
		kind += fmt.Sprintf(":%d", i)
	}
	return kind
}

// numpyDType accepts a code and two flags.
func numpyDType(p *pickle, args tuple) any {
	code := as[string](p, args[0])
	if len(code) >= 16 {
		p.failf(format.ErrCorrupt, "a dtype is not as torch.save writes it")
	}
	return &numpyType{code}
}

// numpyScalar accepts a dtype and the bytes of one element.
func numpyScalar(p *pickle, args tuple) any {
	t, b := as[*numpyType](p, args[0]), as[raw](p, args[1])
	if !p.ok() {
		return nil
	}
	code, big := strings.CutPrefix(t.code, ">")
	unknown := opaque("numpy." + code)
	if len(code) != 2 || len(b) > 8 || int(code[1]-'0') != len(b) {
		return unknown
	}
	var word [8]byte
	copy(word[:], b)
	if big {
		slices.Reverse(word[:len(b)])
	}
	bits := binary.LittleEndian.Uint64(word[:])
	switch {
	case code == "f8":
		return math.Float64frombits(bits)
	case code == "f4":
		return float64(math.Float32frombits(uint32(bits)))
	case code == "f2":
		return float64(tensor.F16(bits).Float32())
	case code == "b1":
		return bits != 0
	case code[0] == 'i':
		return long(word[:len(b)])
	case code[0] == 'u' && int64(bits) >= 0:
		return int64(bits)
	}
	return unknown
}

// encode accepts "latin1" and a string whose characters are bytes.
func encode(p *pickle, args tuple) any {
	s := as[string](p, args[0])
	if args[1] != any("latin1") || !p.charge(int64(len(s))) {
		p.failf(format.ErrCorrupt, "an encoding is not as torch.save writes it")
		return nil
	}
	out := make(raw, 0, min(len(s), 64))
	for _, r := range s {
		if r > 0xff {
			p.failf(format.ErrCorrupt, "%q is not as torch.save writes it", r)
		}
		out = append(out, byte(r))
	}
	return out
}
