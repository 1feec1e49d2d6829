package onnx

import (
	"crypto/sha256"
	"fmt"
	"hash"
	"maps"
	"slices"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/protobuf"
	"github.com/weightmap/weightmap/internal/wire"
	"github.com/weightmap/weightmap/tensor"
	"google.golang.org/protobuf/encoding/protowire"
)

// otherwise has the fields of each message that become metadata, tensors or graph, as bits. All
// other fields are native.
var otherwise = map[*protobuf.Message]uint64{
	modelMsg:      bits(1, 2, 3, 4, 5, 6, 7, 8, 14),
	opsetMsg:      bits(1, 2),
	entryMsg:      bits(1, 2),
	graphMsg:      bits(1, 2, 5, 11, 12),
	nodeMsg:       bits(1, 2, 3, 4, 5, 7),
	attributeMsg:  bits(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 20),
	tensorMsg:     neutralTensor,
	valueInfoMsg:  bits(1, 2),
	typeMsg:       bits(1),
	tensorTypeMsg: bits(1, 2),
	shapeMsg:      bits(1),
	dimensionMsg:  bits(1, 2),
}

var neutralTensor = bits(1, 2, floatData, int32Data, stringData, int64Data, 8, rawData, doubleData, uint64Data, 13, 14)

func bits(nums ...int) (set uint64) {
	for _, n := range nums {
		set |= 1 << n
	}
	return set
}

// unknownFields is the kind of fields that the tables do not have.
const unknownFields = "unknown_fields"

// Native implements driver.NativeFile: all of the model but the data of its tensors, each of
// which is an initializer with name, type and whatever only ONNX has.
func (f *parsed) Native() (*driver.Native, error) {
	n := f.head.Size + f.graph.Size + 64*int64(f.index.Len())
	for _, g := range slices.Concat(f.head.gaps, f.graph.gaps) {
		n += g.end - g.at
	}
	err := f.o.Memory.Reserve(n)
	if err != nil {
		return nil, wire.Error(formatName, "model", -1, err)
	}
	defer f.o.Memory.Release(n)
	raw, err := f.skeleton(n)
	if err != nil {
		return nil, err
	}
	list, err := kindsOf(modelMsg, raw, 0)
	if err != nil {
		return nil, wire.Error(formatName, "model", -1, err)
	}
	return &driver.Native{Format: formatName, Kinds: list, Raw: raw}, nil
}

// skeleton returns the model without data, about n bytes.
func (f *parsed) skeleton(n int64) (_ []byte, err error) {
	e := editor{inline: f}
	defer func() { f.o.Memory.Release(e.inlined) }()
	out := make([]byte, 0, n)
	if out, err = e.message(out, modelMsg, f.head.Win); err == nil {
		out, err = f.appendGaps(out, f.head.gaps)
	}
	out = protowire.AppendTag(out, 7, protowire.BytesType)
	start := len(out)
	if err == nil {
		out, err = e.without(15, out, graphMsg, f.graph.Win) // sparse tensors
	}
	if d, ok := err.(*protobuf.Defect); ok {
		err = wire.Error(formatName, "model", -1, d)
	}
	if err == nil {
		out, err = f.appendGaps(out, f.graph.gaps)
	}
	for i := 0; err == nil && i < len(f.records); i++ {
		out, err = f.appendShell(out, i)
	}
	return putSize(out, start), err
}

// appendGaps appends fields that stayed in the file.
func (f *parsed) appendGaps(out []byte, gaps []span) ([]byte, error) {
	for _, g := range gaps {
		b, err := driver.Private(f.src, g.at, g.end-g.at)
		if err != nil {
			return nil, err
		}
		out = append(out, b...)
	}
	return out, nil
}

// appendShell appends the initializer of tensor i without what a plan says of it.
func (f *parsed) appendShell(out []byte, i int) ([]byte, error) {
	info := tensor.Info{DType: f.index.DType(i), Encoding: f.index.Encoding(i)}
	b := protobuf.PutBytes(protobuf.PutInt(nil, 2, int64(storageOf(&info).code)), 8, []byte(f.index.Name(i)))
	if r := &f.records[i]; r.more {
		w := &protobuf.Window{}
		w.Open(f.src, 0, f.src.Size(), f.o.MaxHeaderBytes)
		defer w.Close()
		s := &protobuf.Source{Size: f.src.Size(), From: w}
		err := s.Each(tensorMsg, protobuf.Field{Start: r.at, End: r.end}, func(fl protobuf.Field) error {
			if neutralTensor&(1<<fl.Num) != 0 {
				return nil
			}
			return s.Keep(&b, &fl)
		})
		if err != nil {
			return nil, wire.Error(formatName, fmt.Sprintf("tensor %q", f.index.Name(i)), r.at, err)
		}
	}
	return protobuf.PutBytes(out, 5, b), nil
}

// putSize puts the number of bytes from start on before them.
func putSize(b []byte, start int) []byte {
	n := len(b) - start
	size := protowire.SizeVarint(uint64(n))
	b = append(b, make([]byte, size)...)
	copy(b[start+size:], b[start:start+n])
	protowire.AppendVarint(b[:start], uint64(n))
	return b
}

// kinds are the native fields of a message by what they are called.
type kinds map[string]*kind

type kind struct {
	driver.NativeKind
	sum hash.Hash
}

// kindsOf lists the native fields of a message. level is 0 for a model, 1 for its graph.
func kindsOf(m *protobuf.Message, b []byte, level int) ([]driver.NativeKind, error) {
	k, s := kinds{}, protobuf.InMemory(b)
	err := k.fields(m, s, protobuf.Field{End: s.Size}, make([]byte, 0, 1<<10), level)
	return k.list(), err
}

// fields adds the native fields of a message that is at a place: the numbers of the fields
// that it is in, each with which of several it is.
func (k kinds) fields(m *protobuf.Message, s *protobuf.Source, msg protobuf.Field, place []byte, level int) error {
	if level > protobuf.MaxLevels {
		return protobuf.TooDeep(msg.At)
	}
	var counts [32]uint64 // those beyond are unknown, and keep their order
	return s.Each(m, msg, func(f protobuf.Field) error {
		n := &counts[f.Num%32]
		*n++
		here := protowire.AppendVarint(protowire.AppendVarint(place, uint64(f.Num)), *n)
		d := m.Known(f.Num)
		switch {
		case d == nil:
			return k.add(unknownFields, s, &f, here)
		case otherwise[m]&(1<<f.Num) == 0:
			return k.add(d.Name, s, &f, here)
		case m == graphMsg && f.Num == 5 && level > 1:
			return k.add("subgraph_initializers", s, &f, here)
		case m == graphMsg && f.Num == 5: // which may change places
			name, err := s.Last(tensorMsg, f, graphSchema.TensorName)
			if err != nil {
				return err
			}
			here = append(here[:len(place)], name...)
		}
		if d.Message == nil {
			return nil
		}
		return k.fields(d.Message, s, f, here, level+1)
	})
}

// add counts a field.
func (k kinds) add(name string, s *protobuf.Source, f *protobuf.Field, place []byte) error {
	b, err := s.Bytes(f.At, f.End)
	if err != nil {
		return err
	}
	one := k[name]
	if one == nil {
		one = &kind{driver.NativeKind{Name: name}, sha256.New()}
		k[name] = one
	}
	one.Count++
	one.Bytes += int64(len(b))
	one.sum.Write(protowire.AppendBytes(nil, place))
	one.sum.Write(protowire.AppendVarint(nil, uint64(len(b))))
	one.sum.Write(b)
	return nil
}

// list returns the kinds by name.
func (k kinds) list() []driver.NativeKind {
	var out []driver.NativeKind
	for _, name := range slices.Sorted(maps.Keys(k)) {
		one := k[name]
		one.sum.Sum(one.Sum[:0])
		out = append(out, one.NativeKind)
	}
	return out
}
