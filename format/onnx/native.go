package onnx

import (
	"fmt"
	"slices"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/onnxgraph"
	"github.com/weightmap/weightmap/internal/protobuf"
	"github.com/weightmap/weightmap/internal/wire"
	"github.com/weightmap/weightmap/tensor"
	"google.golang.org/protobuf/encoding/protowire"
)

// otherwise are the fields that become metadata, tensors or graph.
var otherwise = onnxgraph.Neutral{
	modelMsg:      onnxgraph.Bits(1, 2, 3, 4, 5, 6, 7, 8, 14),
	opsetMsg:      onnxgraph.Bits(1, 2),
	entryMsg:      onnxgraph.Bits(1, 2),
	graphMsg:      onnxgraph.Bits(1, 2, 5, 11, 12),
	nodeMsg:       onnxgraph.Bits(1, 2, 3, 4, 5, 7),
	attributeMsg:  onnxgraph.Bits(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 20),
	tensorMsg:     neutralTensor,
	valueInfoMsg:  onnxgraph.Bits(1, 2),
	typeMsg:       onnxgraph.Bits(1),
	tensorTypeMsg: onnxgraph.Bits(1, 2),
	shapeMsg:      onnxgraph.Bits(1),
	dimensionMsg:  onnxgraph.Bits(1, 2),
}

var neutralTensor = onnxgraph.Bits(1, 2, floatData, int32Data, stringData, int64Data, 8, rawData, doubleData, uint64Data, 13, 14)

// Native implements driver.Parsed: all of the model but the data of its tensors, each of
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
	list, err := graphSchema.Kinds(otherwise, modelMsg, raw, 0)
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
	if err != nil {
		return nil, err
	}
	return protobuf.PutSize(out, start), nil
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
