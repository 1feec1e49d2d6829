package onnx

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/external"
	"github.com/weightmap/weightmap/internal/protobuf"
	"github.com/weightmap/weightmap/tensor"
	"google.golang.org/protobuf/encoding/protowire"
)

// Create starts writing a model to path. It is written to a temporary file that takes
// the place of an old one on Close. Nil options work.
func Create(path string, p *format.Plan, o *WriteOptions) (*format.Writer, error) {
	o = o.orDefault()
	return format.With(fileFormat{*o}).Create(path, p, &o.WriteOptions)
}

// NewWriter starts writing a model to w, straight through. Nil options work.
func NewWriter(w io.Writer, p *format.Plan, o *WriteOptions) (*format.Writer, error) {
	o = o.orDefault()
	return format.With(fileFormat{*o}).NewWriter(w, p, &o.WriteOptions)
}

// refuse is the error for a plan that cannot be written.
func refuse(field string, err error) error {
	return &format.Error{Format: formatName, Field: field, Offset: -1, Err: fmt.Errorf("%w: %w", format.ErrPlan, err)}
}

// builder lays out a file.
type builder struct {
	layout driver.Layout
	run    []byte // bytes that are known, not yet a part
	at     int64  // where the run ends
}

func (w *builder) add(b []byte) {
	w.run = append(w.run, b...)
	w.at += int64(len(b))
}

// data leaves room for a tensor.
func (w *builder) data(size int64) {
	w.flush()
	w.at += size
}

func (w *builder) flush() {
	if len(w.run) > 0 {
		w.layout.Parts = append(w.layout.Parts, driver.Part{Offset: w.at - int64(len(w.run)), Bytes: w.run})
		w.run = nil
	}
}

// layout says where everything goes. Tensors for which outside returns a record have no
// place in the file: their offset is that of the record's end.
func layout(p *driver.Plan, outside func(i int, more []byte) []byte) (*driver.Layout, error) {
	f, err := frameOf(p)
	if err != nil {
		return nil, refuse("plan", err)
	}
	total := int64(0)
	for i := range p.Tensors {
		if outside(i, nil) == nil {
			total += p.Tensors[i].Size
		}
		if total > maxModel || total < 0 {
			return nil, refuse("tensors", fmt.Errorf("%w: a model of more than 2 GiB is no protocol buffer; see WriteOptions.ExternalFrom", format.ErrLimit))
		}
	}
	// The graph's length precedes it, and the padding in it depends on where it begins.
	for size := protowire.SizeVarint(uint64(len(f.before)+len(f.after)) + uint64(total)); ; size++ {
		w := builder{layout: driver.Layout{Offsets: make([]int64, len(p.Tensors))}}
		w.add(f.front)
		w.add(protowire.AppendTag(nil, 7, protowire.BytesType))
		length := len(w.run)
		w.add(make([]byte, size))
		start := w.at
		w.add(f.before)
		for i := range p.Tensors {
			t := &p.Tensors[i]
			if b := outside(i, f.shells[t.Name].more); b != nil {
				w.add(b)
				w.layout.Offsets[i] = w.at
				continue
			}
			w.add(initializer(t, f.shells[t.Name].more, w.at))
			w.layout.Offsets[i] = w.at
			w.data(t.Size)
		}
		w.add(f.after)
		n := w.at - start
		w.flush()
		if protowire.SizeVarint(uint64(n)) > size {
			continue
		}
		if w.at > maxModel {
			return nil, refuse("tensors", fmt.Errorf("%w: %d bytes are no protocol buffer; see WriteOptions.ExternalFrom", format.ErrLimit, w.at))
		}
		putLength(w.layout.Parts[0].Bytes[length:length+size], uint64(n))
		w.layout.Size = w.at
		if head := w.layout.Parts[0].Bytes; !detect(head[:min(len(head), driver.SniffLen)], w.at) {
			return nil, refuse("metadata", fmt.Errorf("%w: without operator sets, and with such texts or such a version, the file would not be recognized as ONNX", format.ErrUnsupported))
		}
		return &w.layout, nil
	}
}

// putLength writes a varint that fills b.
func putLength(b []byte, n uint64) {
	for i := range b {
		b[i] = byte(n) | 0x80
		n >>= 7
	}
	b[len(b)-1] &^= 0x80
}

// inside is layout's outside for files that have everything.
func inside(int, []byte) []byte { return nil }

// externalEncoder writes such a model.
type externalEncoder struct {
	t      driver.Target
	w      *driver.WriteOptions
	plan   *driver.Plan
	layout *driver.Layout
	ext    *external.File
	offs   []int64 // in the external file, -1 for the model itself
}

// externalLayout is the layout of a model with a file of external data.
func externalLayout(p *driver.Plan, o *driver.WriteOptions, own *WriteOptions) (*driver.Layout, error) {
	ext, err := external.NewFile(external.Format{Driver: fileFormat{}, Locations: locations}, own.External, o.Path)
	if err != nil {
		return nil, refuse("external data", err)
	}
	e := &externalEncoder{w: o, plan: p, ext: ext, offs: make([]int64, len(p.Tensors))}
	for i := range p.Tensors {
		if e.offs[i] = -1; p.Tensors[i].Size >= own.ExternalFrom && p.Tensors[i].Size > 0 && storageOf(&p.Tensors[i]).form == asRaw {
			align := int64(alignment)
			if p.Tensors[i].Size >= pageAlign {
				align = pageAlign
			}
			e.offs[i] = ext.Reserve(p.Tensors[i].Size, align)
		}
	}
	if err := e.place(); err != nil {
		return nil, err
	}
	start := func(t driver.Target) (driver.Encoder, error) {
		e.t = t
		return e, nil
	}
	return &driver.Layout{Encode: start, Committed: ext.Committed}, nil
}

// locations lists the external files that a model names.
func locations(path string) ([]string, error) {
	m, err := codec.Open(path, nil)
	if err != nil {
		return nil, err
	}
	defer m.Close()
	return slices.Collect(maps.Keys(codec.Own(m).(*parsed).files)), nil
}

// place makes the layout. Where the external file will be is not known before the end, but
// how long its location is.
func (e *externalEncoder) place() (err error) {
	e.layout, err = layout(e.plan, func(i int, more []byte) []byte {
		if e.offs[i] < 0 {
			return nil
		}
		return externalRecord(&e.plan.Tensors[i], more, e.ext.Location, e.offs[i])
	})
	return err
}

// externalRecord is the message of a tensor whose data is in another file.
func externalRecord(t *tensor.Info, more []byte, location string, off int64) []byte {
	b := append(putDims(nil, t.Shape), more...)
	b = protobuf.PutInt(b, 2, int64(storageOf(t).code))
	b = protobuf.PutBytes(b, 8, t.Name)
	for _, e := range []stringEntry{{"location", location}, {"offset", strconv.FormatInt(off, 10)}, {"length", strconv.FormatInt(t.Size, 10)}} {
		b = putEntry(b, 13, e)
	}
	return protobuf.PutBytes(nil, 5, protobuf.PutInt(b, 14, 1))
}

// Tensor implements driver.Encoder.
func (e *externalEncoder) Tensor(i int, in driver.Input) error {
	if e.offs[i] >= 0 {
		return e.ext.Write(e.offs[i], in, nil)
	}
	return in.CopyTo(e.t, e.layout.Offsets[i], nil)
}

// Finish implements driver.Encoder. The data appears before the model that names it.
func (e *externalEncoder) Finish() error {
	if err := e.ext.Finish(!e.w.NoSync); err != nil {
		return err
	}
	if err := e.place(); err != nil {
		return err
	}
	for _, part := range e.layout.Parts {
		if _, err := e.t.WriteAt(part.Bytes, part.Offset); err != nil {
			return err
		}
	}
	return e.t.Truncate(e.layout.Size)
}

// Close removes external data that no model names.
func (e *externalEncoder) Close() error {
	e.ext.Abort()
	return nil
}

// putDims appends the dims of a tensor, as the reference does one by one.
func putDims(b []byte, s tensor.Shape) []byte {
	for _, d := range s {
		b = protobuf.PutVarint(b, 1, d)
	}
	return b
}

// checkTensor says why a tensor cannot be in an attribute.
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
	if as.form == asFields {
		return protobuf.PutText(append(b, data...), 8, info.Name)
	}
	return protobuf.PutBytes(protobuf.PutText(b, 8, info.Name), rawData, data)
}

// checkFront refuses an encoded model without a graph that the reader would refuse.
func checkFront(b []byte) error {
	f := &parsed{index: &driver.Index{}, o: &driver.Options{}}
	f.structure.Source = *protobuf.InMemory(b)
	return f.readModel()
}

// checkGraph refuses an encoded graph that the reader would refuse.
func checkGraph(b []byte) error {
	_, err := decodeGraph(b)
	return err
}
