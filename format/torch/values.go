package torch

import (
	"fmt"
	"math"
	"strings"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/tensor"
)

// Values that a pickle makes, besides nil, bool, int64, float64 and string.
type (
	tuple []any
	list  struct{ items []any }
	dict  struct{ items []any } // keys and values by turns
	raw   []byte
	// opaque names a value that has no meaning here.
	opaque string
	global struct{ module, name string }
	// numpyType is a dtype of NumPy's: "f8".
	numpyType struct{ code string }
)

// storage is memory that tensors share.
type storage struct {
	key   string
	elem  *elem
	first int64 // of its elements in what the file holds under key
	count int64 // its elements
	total int64 // elements that the file holds under key
}

// rebuilt is a tensor: elements of a storage.
type rebuilt struct {
	storage *storage
	elem    *elem
	offset  int64 // in elements
	shape   tensor.Shape
	stride  []int64
}

// kindOf names a value in errors and notes.
func kindOf(v any) string {
	switch v := v.(type) {
	case nil:
		return "None"
	case bool:
		return "bool"
	case int64:
		return "int"
	case float64:
		return "float"
	case string:
		return "str"
	case tuple:
		return "tuple"
	case *list:
		return "list"
	case *dict:
		return "dict"
	case raw:
		return "bytes"
	case opaque:
		return string(v)
	case global:
		return v.module + "." + v.name
	case *storage:
		return "storage"
	case *rebuilt:
		return "tensor"
	}
	return "dtype"
}

// functions are the globals that a pickle may call.
var functions = map[global]func(p *pickle, args tuple) (any, error){
	{"collections", "OrderedDict"}:                    orderedDict,
	{"torch._utils", "_rebuild_tensor_v2"}:            rebuildTensor,
	{"torch._utils", "_rebuild_tensor_v3"}:            rebuildTensor3,
	{"torch._utils", "_rebuild_parameter"}:            rebuildParameter,
	{"torch._utils", "_rebuild_parameter_with_state"}: rebuildParameter,
	{"torch", "Size"}:                                 size,
	{"torch", "device"}:                               device,
	{"numpy", "dtype"}:                                numpyDType,
	{"numpy.core.multiarray", "scalar"}:               numpyScalar,
	{"numpy._core.multiarray", "scalar"}:              numpyScalar,
	{"_codecs", "encode"}:                             encode, // the bytes of NumPy's scalars in protocol 2
}

// known reports whether a global is on the list.
func (g global) known() bool {
	_, ok := functions[g]
	return ok || g.storageType() != nil || g.module == "torch" && elems[g.name] != nil
}

// storageType returns the elements of a storage class, nil for another global.
func (g global) storageType() *elem {
	switch {
	case g.module == "torch.storage" && (g.name == "UntypedStorage" || g.name == "TypedStorage"), g.module == "torch" && g.name == "UntypedStorage":
		return elems["uint8"]
	case g.module == "torch" || g.module == "torch.cuda":
		name, ok := strings.CutSuffix(g.name, "Storage")
		if ok {
			return elems[storageNames[name]]
		}
	}
	return nil
}

// call makes what a function makes of its arguments, if it is on the list.
func (p *pickle) call(callee any, args tuple) any {
	if p.c.Err() != nil {
		return nil
	}
	g, _ := callee.(global)
	f := functions[g]
	if f == nil {
		p.failf(format.ErrUnsupported, "it calls %s", clip(kindOf(callee)))
		return nil
	}
	v, err := f(p, args)
	if err != nil {
		p.failf(format.ErrCorrupt, "%s.%s: %w", g.module, g.name, err)
	}
	return v
}

// build sets the state of the value on top. That of an OrderedDict is attributes, which
// no tensor needs; that of a dtype is its byte order.
func (p *pickle) build(state any) {
	switch v := p.top().(type) {
	case *dict, *rebuilt:
	case *numpyType:
		if t, ok := state.(tuple); ok && len(t) > 1 {
			if order, ok := t[1].(string); ok && order == ">" {
				v.code = ">" + v.code
			}
		}
	default:
		if p.c.Err() == nil {
			p.failf(format.ErrUnsupported, "it sets the state of a value of type %s", clip(kindOf(v)))
		}
	}
}

// persistent makes a storage of its persistent id: ("storage", class, key, location, count),
// with a sixth value in the legacy container: nil, or (key, offset, count) of a view.
func (p *pickle) persistent(id any) any {
	if p.c.Err() != nil {
		return nil
	}
	t, _ := id.(tuple)
	want := 5
	if p.legacy {
		want = 6
	}
	if len(t) != want {
		p.failf(format.ErrCorrupt, "a persistent id is %s of %d values, not a tuple of %d", kindOf(id), len(t), want)
		return nil
	}
	kind, _ := t[0].(string)
	class, _ := t[1].(global)
	key, named := t[2].(string)
	count, counted := t[4].(int64)
	e := class.storageType()
	if kind != "storage" || e == nil || !named || !counted || count < 0 || count > math.MaxInt64/e.size {
		p.failf(format.ErrCorrupt, "a persistent id is not (storage, class, key, location, count)")
		return nil
	}
	s := &storage{key: key, elem: e, count: count, total: count}
	if root := p.roots[key]; root == nil {
		p.charge(memoBytes)
		p.roots[key] = s
	} else if root.elem.size != e.size && p.legacy || root.total != count && p.legacy {
		p.failf(format.ErrCorrupt, "storage %s has %d elements here, %d before", clip(key), count, root.total)
	}
	if p.legacy && t[5] != nil {
		view, _ := t[5].(tuple)
		if len(view) != 3 {
			p.failf(format.ErrCorrupt, "the view of a persistent id is not (key, offset, count)")
			return nil
		}
		first, ok := view[1].(int64)
		n, also := view[2].(int64)
		if !ok || !also || first < 0 || n < 0 || n > count || first > count-n {
			p.failf(format.ErrCorrupt, "the view of a persistent id leaves its storage")
			return nil
		}
		s.first, s.count = first, n
	}
	return s
}

// orderedDict takes nothing, or a list of pairs.
func orderedDict(p *pickle, args tuple) (any, error) {
	d := new(dict)
	if len(args) == 0 {
		return d, nil
	}
	l, ok := args[0].(*list)
	if !ok || len(args) > 1 {
		return nil, errShape
	}
	p.charge(32 * int64(len(l.items)))
	for _, item := range l.items {
		pair, _ := item.(tuple)
		if l, isList := item.(*list); isList {
			pair = tuple(l.items)
		}
		if len(pair) != 2 || p.c.Err() != nil {
			return nil, errShape
		}
		d.items = append(d.items, pair...)
	}
	return d, nil
}

// rebuildTensor takes (storage, offset, shape, stride, requires_grad, hooks) and perhaps more.
func rebuildTensor(p *pickle, args tuple) (any, error) {
	if len(args) < 6 {
		return nil, errShape
	}
	s, ok := args[0].(*storage)
	if !ok {
		return nil, errShape
	}
	return p.rebuild(s, s.elem, args)
}

// rebuildTensor3 is rebuildTensor with a dtype behind the hooks, over untyped storage.
func rebuildTensor3(p *pickle, args tuple) (any, error) {
	if len(args) < 7 {
		return nil, errShape
	}
	s, ok := args[0].(*storage)
	g, _ := args[6].(global)
	if !ok || elems[g.name] == nil {
		return nil, errShape
	}
	return p.rebuild(s, elems[g.name], args)
}

func (p *pickle) rebuild(s *storage, e *elem, args tuple) (*rebuilt, error) {
	t := &rebuilt{storage: s, elem: e}
	var ok bool
	if t.offset, ok = args[1].(int64); !ok || t.offset < 0 {
		return nil, errShape
	}
	shape, ok := p.numbers(args[2])
	stride, also := p.numbers(args[3])
	if !ok || !also || len(shape) != len(stride) || len(shape) > maxRank {
		return nil, errShape
	}
	t.shape, t.stride = shape, stride
	return t, t.check()
}

// numbers returns the elements of a tuple of integers that are not negative.
func (p *pickle) numbers(v any) ([]int64, bool) {
	t, ok := v.(tuple)
	if !ok {
		return nil, false
	}
	p.charge(8 * int64(len(t)))
	out := make([]int64, len(t))
	for i, v := range t {
		if out[i], ok = v.(int64); !ok || out[i] < 0 {
			return nil, false
		}
	}
	return out, true
}

// check compares where the last element is with what the storage has.
func (t *rebuilt) check() error {
	size, err := t.shape.Elems()
	if err != nil || size == 0 {
		return err
	}
	have := t.storage.count * t.storage.elem.size / t.elem.size // elements of the tensor's type
	last := t.offset
	for i, d := range t.shape {
		if d > 1 && t.stride[i] > (math.MaxInt64-last)/(d-1) {
			return fmt.Errorf("shape %v with strides %v leaves its storage", t.shape, t.stride)
		}
		last += (d - 1) * t.stride[i]
	}
	if last >= have {
		return fmt.Errorf("shape %v with strides %v ends at element %d of a storage of %d", t.shape, t.stride, last, have)
	}
	return nil
}

// contiguous reports whether the elements, of which there are some, lie as a view shows them.
func (t *rebuilt) contiguous() bool {
	want := int64(1)
	for i := len(t.shape) - 1; i >= 0; i-- {
		if t.shape[i] != 1 && t.stride[i] != want {
			return false
		}
		want *= t.shape[i]
	}
	return true
}

// rebuildParameter takes (tensor, requires_grad, hooks) and perhaps a state.
func rebuildParameter(_ *pickle, args tuple) (any, error) {
	if len(args) < 3 {
		return nil, errShape
	}
	t, ok := args[0].(*rebuilt)
	if !ok {
		return nil, errShape
	}
	return t, nil
}

// size takes a tuple.
func size(_ *pickle, args tuple) (any, error) {
	if len(args) == 1 {
		if t, ok := args[0].(tuple); ok {
			return t, nil
		}
	}
	return nil, errShape
}

// device takes a kind and perhaps an index.
func device(_ *pickle, args tuple) (any, error) {
	if len(args) == 0 || len(args) > 2 {
		return nil, errShape
	}
	kind, ok := args[0].(string)
	if !ok {
		return nil, errShape
	}
	if len(args) == 2 {
		if i, ok := args[1].(int64); ok {
			kind += fmt.Sprintf(":%d", i)
		}
	}
	return kind, nil
}

// numpyDType takes a code and two flags.
func numpyDType(_ *pickle, args tuple) (any, error) {
	if len(args) > 0 {
		if code, ok := args[0].(string); ok && len(code) < 16 {
			return &numpyType{code}, nil
		}
	}
	return nil, errShape
}

// numpyScalar takes a dtype and the bytes of one element.
func numpyScalar(_ *pickle, args tuple) (any, error) {
	if len(args) != 2 {
		return nil, errShape
	}
	t, ok := args[0].(*numpyType)
	b, also := args[1].(raw)
	if !ok || !also {
		return nil, errShape
	}
	code, big := strings.CutPrefix(t.code, ">")
	var bits uint64
	for i := range b {
		if len(b) > 8 {
			return opaque("numpy." + code), nil
		}
		at := i
		if big {
			at = len(b) - 1 - i
		}
		bits |= uint64(b[at]) << (8 * i)
	}
	switch shift := 64 - 8*len(b); {
	case code == "f8" && len(b) == 8:
		return math.Float64frombits(bits), nil
	case code == "f4" && len(b) == 4:
		return float64(math.Float32frombits(uint32(bits))), nil
	case code == "f2" && len(b) == 2:
		return float64(tensor.F16(bits).Float32()), nil
	case code == "b1" && len(b) == 1:
		return bits != 0, nil
	case len(code) == 2 && code[0] == 'i' && int(code[1]-'0') == len(b) && shift < 64:
		return int64(bits<<shift) >> shift, nil
	case len(code) == 2 && code[0] == 'u' && int(code[1]-'0') == len(b) && int64(bits) >= 0:
		return int64(bits), nil
	}
	return opaque("numpy." + code), nil
}

// encode takes a string whose characters are bytes, and "latin1".
func encode(p *pickle, args tuple) (any, error) {
	if len(args) != 2 || args[1] != any("latin1") {
		return nil, errShape
	}
	s, ok := args[0].(string)
	if !ok {
		return nil, errShape
	}
	p.charge(int64(len(s)))
	out := make(raw, 0, min(len(s), 64))
	for _, r := range s {
		if r > 0xff || p.c.Err() != nil {
			return nil, errShape
		}
		out = append(out, byte(r))
	}
	return out, nil
}
