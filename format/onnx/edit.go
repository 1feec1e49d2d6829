package onnx

import (
	"fmt"

	"github.com/weightmap/weightmap/internal/onnxgraph"
	"github.com/weightmap/weightmap/internal/protobuf"
	"github.com/weightmap/weightmap/tensor"
	"google.golang.org/protobuf/encoding/protowire"
)

// valueNames has the fields of messages that name values of a graph, as bits.
var valueNames = map[*protobuf.Message]uint64{
	nodeMsg: onnxgraph.Bits(1, 2), valueInfoMsg: onnxgraph.Bits(1), annotationMsg: onnxgraph.Bits(1), parameterMsg: onnxgraph.Bits(2), bindingMsg: onnxgraph.Bits(1, 2), shardingMsg: onnxgraph.Bits(1),
}

// editor copies messages and changes them on the way: either external data moves into them,
// or they follow the tensors of a plan.
type editor struct {
	inline  *parsed // the model whose external data is wanted
	inlined int64   // bytes of that, which are reserved

	names   map[string]string // of tensors, by those that they had
	fresh   map[string]bool   // names that no tensor had
	gone    map[string]bool   // tensors that are missing
	retyped bool              // tensors have other types, so the types of values are unknown

	missing bool           // something that is gone was named
	clash   bool           // a fresh name had another meaning
	dropped map[string]int // fields that are left out, by kind
}

// idle reports whether nothing changes.
func (e *editor) idle() bool {
	return e.inline == nil && len(e.names)+len(e.gone) == 0 && !e.retyped
}

// message appends a message, which has been checked.
func (e *editor) message(out []byte, m *protobuf.Message, b []byte) ([]byte, error) {
	return e.without(0, out, m, b)
}

// without is message for one that loses a field.
func (e *editor) without(gone protowire.Number, out []byte, m *protobuf.Message, b []byte) ([]byte, error) {
	for len(b) > 0 {
		num, typ, n := protowire.ConsumeTag(b)
		v := -1
		if n > 0 {
			v = protowire.ConsumeFieldValue(num, typ, b[n:])
		}
		if v < 0 {
			return nil, fmt.Errorf("%w: the file changed since it was opened", tensor.ErrCorrupt)
		}
		field, value := b[:n+v], b[n:n+v]
		b = b[n+v:]
		if num == gone {
			continue
		}
		var err error
		if out, err = e.field(out, m, num, typ, field, value); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (e *editor) field(out []byte, m *protobuf.Message, num protowire.Number, typ protowire.Type, field, value []byte) (_ []byte, err error) {
	d := m.Known(num)
	ofFunctions := m == modelMsg && num == 25 && e.inline == nil // which have values of their own
	if d == nil || typ != protowire.BytesType || e.idle() || ofFunctions {
		return append(out, field...), nil
	}
	value, _ = protowire.ConsumeBytes(value)
	if valueNames[m]&(1<<num) != 0 {
		return protobuf.PutBytes(out, num, []byte(e.name(string(value)))), nil
	}
	if d.Message == nil {
		return append(out, field...), nil
	}
	if m == graphMsg && num == 13 && e.retyped {
		e.drop(d.Name)
		return out, nil
	}
	missing, clash, start := e.missing, e.clash, len(out)
	out = protowire.AppendTag(out, num, protowire.BytesType)
	body := len(out)
	if d.Message == tensorMsg && e.inline != nil {
		out, err = e.tensor(out, value)
	} else {
		out, err = e.message(out, d.Message, value)
	}
	if err != nil {
		return nil, err
	}
	out = protobuf.PutSize(out, body)
	annotates := m == graphMsg && (num == 13 || num == 14) || m == modelMsg && num == 20
	if annotates && (e.missing && !missing || e.clash && !clash) {
		e.drop(d.Name)
		e.missing, e.clash = missing, clash
		return out[:start], nil
	}
	return out, nil
}

func (e *editor) drop(kind string) {
	if e.dropped == nil {
		e.dropped = map[string]int{}
	}
	e.dropped[kind]++
}

// name returns what a value is called now.
func (e *editor) name(old string) string {
	e.missing = e.missing || e.gone[old]
	if name, ok := e.names[old]; ok {
		return name
	}
	e.clash = e.clash || e.fresh[old]
	return old
}

// tensor appends the message of a tensor, whose data may be external.
func (e *editor) tensor(out, b []byte) ([]byte, error) {
	var h head
	h.reset()
	s := protobuf.InMemory(b)
	if h.read(s, 0, s.Size, 3) != nil || h.location != 1 || h.check(0) != nil {
		return append(out, b...), nil
	}
	v, err := e.inline.viewOf(b)
	if err == nil {
		err = e.inline.o.Memory.Reserve(v.Info().Size)
	}
	if err != nil {
		return nil, err
	}
	if e.inlined += v.Info().Size; e.inlined > maxAttributeTensor {
		return nil, fmt.Errorf("%w: external data of %d bytes for tensors inside a graph", tensor.ErrLimit, e.inlined)
	}
	if v, err = v.Clone(); err != nil {
		return nil, err
	}
	data, err := v.Bytes()
	if err != nil {
		return nil, err
	}
	err = s.Each(tensorMsg, protobuf.Field{End: s.Size}, func(f protobuf.Field) error {
		if f.Num == 13 || f.Num == 14 || f.Num == rawData {
			return nil
		}
		return s.Keep(&out, &f)
	})
	return protobuf.PutBytes(out, rawData, data), err
}
