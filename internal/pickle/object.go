package pickle

import (
	"fmt"

	"github.com/weightmap/weightmap/tensor"
)

// object finds what is in an object.
func (w *Walk) object(r Ref) error {
	m := w.m
	o := m.objects[m.values[r].a]
	c := call{role: foreign, args: m.Items(o.args)}
	if g := m.Class(r); g != nil {
		c.role = g.role
		c.global = g
	}
	c.object = o
	c.r = r
	if err := w.call(c); err != nil {
		return err
	}
	if o.kwargs != None {
		if err := w.entries(o.kwargs); err != nil {
			return err
		}
	}
	if c.role != reconstruct && c.role != dtypeRole {
		if err := w.state(o.state, c.role); err != nil {
			return err
		}
	}
	if err := w.entries(o.dict); err != nil {
		return err
	}
	return w.items(o.list)
}

// call is the call of a function or class.
type call struct {
	role   role
	global *Global // nil if it is the result of another call
	args   []uint32
	object object
	r      Ref // what it made
}

// arg returns an argument, or None.
func (c *call) arg(i int) Ref {
	if i >= len(c.args) {
		return None
	}
	return Ref(c.args[i])
}

// call finds what is in the arguments of a call.
func (w *Walk) call(c call) error {
	m := w.m
	switch c.role {
	case tensorV1, tensorV2, tensorV3:
		return w.tensor(&c)
	case wrapper:
		return w.wrapped(&c)
	case fromType:
		return w.typed(&c)
	case absent:
		w.skip(absentKinds[c.global.Name])
		return nil
	case reconstruct, fromBuffer:
		return w.array(&c)
	case scalarRole:
		return w.scalar(&c)
	case orderedDict:
		if len(c.args) > 0 {
			return w.pairs(c.arg(0))
		}
		return nil
	case mapping:
		return w.mapping(&c)
	case sequence:
		if k := m.values[c.arg(0)].kind; len(c.args) > 0 && (k == TupleKind || k == ListKind || k == SetKind) {
			return w.items(c.arg(0))
		}
		return w.arguments(c.args)
	case pathRole:
		return w.parts(&c)
	case deviceRole:
		return w.device(&c)
	case encode:
		w.skip("bytes")
		return nil
	case dtypeRole, loadFromBytes:
		w.skip(m.KindOf(c.r))
		return nil
	case reconstructor:
		if len(c.args) > 2 {
			return w.merged(c.arg(2))
		}
		return nil
	case newObject:
		return w.arguments(c.args[min(1, len(c.args)):])
	}
	return w.arguments(c.args)
}

// arguments finds what is in the arguments of an inert object, which have their positions as names.
func (w *Walk) arguments(args []uint32) error {
	for i, r := range args {
		if err := w.position(i, Ref(r)); err != nil {
			return err
		}
	}
	return nil
}

// merged finds what is in the values of a container as if they were those of the current value.
func (w *Walk) merged(r Ref) error {
	switch w.m.values[r].kind {
	case DictKind:
		return w.inside(r, func() error { return w.entries(r) })
	case TupleKind, ListKind, SetKind:
		return w.inside(r, func() error { return w.items(r) })
	case ObjectKind:
		return w.value(r)
	case NoneKind:
		return nil
	}
	return w.at(r, []byte("0"))
}

// pairs finds what is in an argument of OrderedDict: a dict, or a sequence of keys and values.
func (w *Walk) pairs(r Ref) error {
	m := w.m
	if k := m.values[r].kind; k != ListKind && k != TupleKind {
		return w.merged(r)
	}
	return w.inside(r, func() error {
		for it := m.iterate(r); it.next(); {
			pair := m.iterate(it.r)
			if m.values[it.r].n != 2 || m.values[it.r].kind != ListKind && m.values[it.r].kind != TupleKind {
				if err := w.position(it.i, it.r); err != nil {
					return err
				}
				continue
			}
			pair.next()
			key := pair.r
			pair.next()
			if err := w.entry(key, pair.r, it.i); err != nil {
				return err
			}
		}
		return nil
	})
}

// mapping finds what is in the last argument of a dict's subclass. A defaultdict has a class before
// it, which makes values that are missing.
func (w *Walk) mapping(c *call) error {
	for i, r := range c.args {
		switch k := w.m.values[r].kind; {
		case k == DictKind || k == ObjectKind && w.m.objects[w.m.values[r].a].dict != None:
			if err := w.merged(Ref(r)); err != nil {
				return err
			}
		case k == ListKind || k == TupleKind:
			if err := w.pairs(Ref(r)); err != nil {
				return err
			}
		case k == GlobalKind || k == NoneKind:
		default:
			if err := w.position(i, Ref(r)); err != nil {
				return err
			}
		}
	}
	return nil
}

// parts adds a path to the metadata.
func (w *Walk) parts(c *call) error {
	var path []byte
	for _, r := range c.args {
		if w.m.values[r].kind != TextKind || len(path)+w.m.Len(Ref(r)) > maxName {
			return w.arguments(c.args)
		}
		if n := len(path); n > 0 && path[n-1] != '/' {
			path = append(path, '/')
		}
		path = append(path, w.m.Text(Ref(r))...)
	}
	return w.text(path)
}

// device adds a device to the metadata: a kind and an optional index.
func (w *Walk) device(c *call) error {
	if w.m.values[c.arg(0)].kind != TextKind || w.m.Len(c.arg(0)) > longText {
		return w.arguments(c.args)
	}
	text := w.m.Text(c.arg(0))
	if i, ok := w.m.Int(c.arg(1)); ok {
		text = fmt.Appendf(nil, "%s:%d", text, i)
	}
	return w.text(text)
}

// state finds what is in the state of an object: a dict of its attributes, or a tuple of that and
// one for its slots.
func (w *Walk) state(r Ref, of role) error {
	m := w.m
	switch v := m.values[r]; {
	case r == None:
		return nil
	case m.isDict(r):
		return w.inside(r, func() error { return w.attributes(r, of) })
	case v.kind == TupleKind && v.n == 2 && m.isState(m.items[v.a]) && m.isState(m.items[v.a+1]):
		return w.inside(r, func() error {
			if err := w.state(Ref(m.items[v.a]), of); err != nil {
				return err
			}
			return w.state(Ref(m.items[v.a+1]), of)
		})
	case of == wrapper:
		return nil // whether a parameter has a gradient
	case v.kind == TupleKind || v.kind == ListKind:
		return w.inside(r, func() error { return w.items(r) })
	}
	return w.at(r, []byte("state"))
}

// isState reports whether r can be half of a state: a dict or None.
func (m *Machine) isState(r uint32) bool { return Ref(r) == None || m.isDict(Ref(r)) }

// isDict reports whether r is a dict or an OrderedDict.
func (m *Machine) isDict(r Ref) bool {
	g := m.Class(r)
	return m.values[r].kind == DictKind || m.values[r].kind == ObjectKind && g != nil && g.role == orderedDict
}

// attributes finds what is in the attributes of an object. The parameters, buffers and submodules
// of a module are named as its state_dict names them.
func (w *Walk) attributes(r Ref, of role) error {
	m := w.m
	if m.values[r].kind == ObjectKind {
		return w.object(r)
	}
	for it := m.iterate(r); it.next(); {
		key := it.r
		if !it.next() {
			break
		}
		text := ""
		if m.values[key].kind == TextKind && m.values[key].n <= 16 {
			text = string(m.Text(key))
		}
		var err error
		switch {
		case text == "_metadata" && of == orderedDict: // versions of the modules in a state_dict
		case (text == "_parameters" || text == "_buffers" || text == "_modules") && m.isDict(it.r):
			err = w.value(it.r)
		default:
			err = w.entry(key, it.r, it.i/2)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// wrapped finds the tensor that is the first argument, and attributes in a state after the
// arguments of a parameter.
func (w *Walk) wrapped(c *call) error {
	if k := w.m.values[c.arg(0)].kind; k != ObjectKind {
		if c.global.Name == "restore_type_tag" {
			return w.value(c.arg(0))
		}
		if c.global.Module == "torch._utils" {
			return w.m.Errorf(c.r, tensor.ErrCorrupt, "a parameter of a value of type %.200q is not as torch.save writes it", w.m.KindOf(c.arg(0)))
		}
		return w.arguments(c.args)
	}
	if err := w.value(c.arg(0)); err != nil {
		return err
	}
	if c.global.Name == "_rebuild_parameter_with_state" {
		return w.state(c.arg(3), wrapper)
	}
	return nil
}

// typed finds what is in a call of a function for a subclass of tensors: the function, the class,
// the arguments of the function, and a state.
func (w *Walk) typed(c *call) error {
	m := w.m
	g := m.Class(c.arg(0))
	if m.values[c.arg(0)].kind != GlobalKind || m.values[c.arg(2)].kind != TupleKind {
		return w.arguments(c.args)
	}
	inner := call{role: g.role, global: g, args: m.Items(c.arg(2)), object: c.object, r: c.r}
	if g.role == fromType { // a tensor of a tensor needs no third level
		inner.role = foreign
	}
	if err := w.call(inner); err != nil {
		return err
	}
	return w.state(c.arg(3), wrapper)
}
