package onnx

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/external"
	"github.com/weightmap/weightmap/internal/protobuf"
	"github.com/weightmap/weightmap/internal/wire"
	"github.com/weightmap/weightmap/tensor"
	"google.golang.org/protobuf/encoding/protowire"
)

// writer holds the layout of a model. It is the Encoder if there is external data.
type writer struct {
	schema *schema.Schema
	o      *driver.LayoutOptions

	front, before, after []byte           // the model without its tensors
	shells               map[string]shell // by tensor

	ext    *driver.External // nil if it cannot have a name
	offs   []int64          // in ext, -1 for the model itself
	inside int64            // bytes of data in the model
	layout driver.Layout
	t      driver.Target
	at     int64 // end of the layout so far
}

// newWriter lays out a schema.
func newWriter(p *schema.Schema, o *driver.LayoutOptions) (w *writer, err error) {
	w = &writer{schema: p, o: o, offs: make([]int64, len(p.Tensors))}
	w.ext, err = external.New(formatName, o.External, o.Path, files)
	if err != nil && o.ExternalFrom > 0 {
		return nil, wire.Refuse(formatName, "external data", "%w", err)
	}
	if err = w.encode(); err != nil {
		return nil, wire.Refuse(formatName, "schema", "%w", err)
	}
	for i := range p.Tensors {
		t := &p.Tensors[i]
		w.offs[i] = -1
		if as := storageOf(t); o.ExternalFrom > 0 && t.Size >= o.ExternalFrom && as.code != sparseCode && !as.fields {
			align := int64(alignment)
			if t.Size >= pageAlign {
				align = pageAlign
			}
			w.offs[i] = external.Reserve(w.ext, t.Size, align)
		} else {
			w.inside += t.Size
		}
	}
	return w, w.place()
}

// place computes the layout. The location of the external file is known only at the end, but
// its length is known now.
func (w *writer) place() error {
	// The graph's length precedes it, and the padding in it depends on where it begins.
	for size := protowire.SizeVarint(uint64(len(w.before)+len(w.after)) + uint64(w.inside)); ; size++ {
		w.layout = driver.Layout{Offsets: make([]int64, len(w.schema.Tensors))}
		front := protowire.AppendTag(slices.Clip(w.front), 7, protowire.BytesType)
		start := int64(len(front) + size)
		head := slices.Concat(front, make([]byte, size), w.before)
		w.at = 0
		w.add(head)
		for i := range w.schema.Tensors {
			b, data := w.initializer(i)
			w.add(b)
			w.layout.Offsets[i] = w.at
			w.at += data
		}
		w.add(w.after)
		n := w.at - start
		if protowire.SizeVarint(uint64(n)) > size {
			continue
		}
		if w.at > maxModel {
			return wire.Refuse(formatName, "tensors", "%w: %d bytes are no protocol buffer, which has at most 2 GiB; see WriteOptions.ExternalFrom", format.ErrLimit, w.at)
		}
		putLength(head[len(front):start], uint64(n))
		w.layout.Size = w.at
		if !detect(head[:min(len(head), driver.SniffLen)], w.at) {
			return wire.Refuse(formatName, "metadata", "%w: without operator sets, and with such texts or such a version, the file would not be recognized as ONNX", format.ErrUnsupported)
		}
		return nil
	}
}

// add appends a part to the layout.
func (w *writer) add(b []byte) {
	w.layout.Parts = append(w.layout.Parts, driver.Part{Offset: w.at, Bytes: b})
	w.at += int64(len(b))
}

// initializer returns the field of a tensor up to its data, and how much of that follows.
func (w *writer) initializer(i int) (b []byte, data int64) {
	t := &w.schema.Tensors[i]
	as := storageOf(t)
	if as.code == sparseCode {
		return protobuf.PutLength(nil, 15, t.Size), t.Size
	}
	head := append(putDims(nil, t.Shape), w.shells[t.Name].more...)
	tail := protobuf.PutBytes(protobuf.PutInt(nil, 2, int64(as.code)), 8, t.Name)
	padding := int64(0)
	switch {
	case w.offs[i] >= 0:
		for _, e := range []stringEntry{{"location", w.ext.Location}, {"offset", fmt.Sprint(w.offs[i])}, {"length", fmt.Sprint(t.Size)}} {
			tail = putEntry(tail, 13, e)
		}
		return protobuf.PutBytes(nil, 5, slices.Concat(head, protobuf.PutInt(tail, 14, 1))), 0
	case !as.fields:
		tail = protobuf.PutLength(tail, rawData, t.Size)
		if as.code > 0 && as.code < 0x80 && t.Size > 0 {
			padding = paddingOf(w.at, int64(len(head)+len(tail))+t.Size, t.Size)
		}
	}
	b = append(protobuf.PutLength(nil, 5, int64(len(head)+len(tail))+t.Size+padding), head...)
	return append(appendPadding(b, byte(as.code), padding), tail...), t.Size
}

// paddingOf returns the least number of bytes more that a field of size bytes needs at an offset
// for the data that it ends with to be aligned.
func paddingOf(at, size, data int64) int64 {
	for n := int64(0); ; n++ {
		length := int64(protowire.SizeVarint(uint64(size + n))) // which the padding may make longer
		if n != 1 && (at+1+length+size+n-data)%alignment == 0 { // a field takes two bytes at least
			return n
		}
	}
}

// appendPadding appends padding bytes: data_type again. Of a field that
// occurs more than once the last counts, which is the same.
func appendPadding(b []byte, code byte, padding int64) []byte {
	if padding%2 != 0 { // a varint with a byte more, which says nothing
		b = append(b, 2<<3, code|0x80, 0)
		padding -= 3
	}
	return append(b, bytes.Repeat([]byte{2 << 3, code}, int(padding/2))...)
}

// putLength writes a varint that fills b.
func putLength(b []byte, n uint64) {
	for i := range b {
		b[i] = byte(n) | 0x80
		n >>= 7
	}
	b[len(b)-1] &^= 0x80
}

// files lists the files of a model.
func files(path string) ([]string, error) {
	return external.FilesOf(format.Open(path, &format.Options{Format: Format{}}))
}

// Tensor implements driver.Encoder.
func (w *writer) Tensor(i int, in driver.Input) error {
	if w.offs[i] >= 0 {
		return in.CopyTo(w.ext.File, w.offs[i], nil)
	}
	return in.CopyTo(w.t, w.layout.Offsets[i], nil)
}

// Finish implements driver.Encoder. Only now the location of external data is known.
func (w *writer) Finish() error {
	if err := w.place(); err != nil {
		return err
	}
	for _, part := range w.layout.Parts {
		if _, err := w.t.WriteAt(part.Bytes, part.Offset); err != nil {
			return err
		}
	}
	return w.t.Truncate(w.layout.Size)
}

// putDims appends the dims of a tensor, as the reference does one by one.
func putDims(b []byte, s tensor.Shape) []byte {
	for _, d := range s {
		b = protobuf.PutVarint(b, 1, d)
	}
	return b
}

// checkTensor returns an error for a tensor that cannot be in an attribute.
func checkTensor(info *tensor.Info) error {
	switch {
	case storageOf(info).code == 0:
		return fmt.Errorf("%w: the format has no %s", format.ErrUnsupported, info.TypeName())
	case info.Quant != nil:
		return fmt.Errorf("%w: the format has no quantization parameters of tensors in attributes", format.ErrUnsupported)
	}
	return nil
}

// putTensor appends the fields of a tensor in an attribute.
func putTensor(b []byte, info *tensor.Info, data []byte) []byte {
	as := storageOf(info)
	b = protobuf.PutInt(putDims(b, info.Shape), 2, int64(as.code))
	if as.fields {
		return protobuf.PutText(append(b, data...), 8, info.Name)
	}
	return protobuf.PutBytes(protobuf.PutText(b, 8, info.Name), rawData, data)
}
