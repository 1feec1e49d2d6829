package gguf

import (
	"encoding/binary"
	"fmt"
	"io"
	"slices"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/wire"
)

// Create starts writing a file of version 3 to path, in a temporary file that
// takes its place on Close. Nil options work. What GGUF has no place for is refused
// with a [format.LossError], or left out if the options accept that.
func Create(path string, p *format.Plan, o *WriteOptions) (*format.Writer, error) {
	o = o.orDefault()
	return format.With(fileFormat{*o}).Create(path, p, &o.WriteOptions)
}

// NewWriter starts writing a file to w, straight through. Nil options work.
func NewWriter(w io.Writer, p *format.Plan, o *WriteOptions) (*format.Writer, error) {
	o = o.orDefault()
	return format.With(fileFormat{*o}).NewWriter(w, p, &o.WriteOptions)
}

// refuse is the error for a plan that cannot be written.
func refuse(field string, sentinel error, text string, args ...any) error {
	return &format.Error{Format: formatName, Field: field, Offset: -1,
		Err: fmt.Errorf("%w: %w: %s", format.ErrPlan, sentinel, fmt.Sprintf(text, args...))}
}

// aligned decides the alignment, and returns the metadata that say so.
func aligned(meta driver.Metadata, o *WriteOptions) (driver.Metadata, int64, error) {
	i := slices.IndexFunc(meta, func(e driver.Entry) bool { return e.Key == keyAlignment })
	n := uint32(defaultAlign)
	if i >= 0 {
		var err error
		if n, err = plannedAlign(meta[i].Value); err != nil {
			return nil, 0, refuse(keyAlignment, format.ErrUnsupported, "%v", err)
		}
	}
	if o.Alignment != 0 {
		n = o.Alignment
	}
	if err := checkAlign(n); err != nil {
		return nil, 0, refuse("Alignment", format.ErrOption, "%v", err)
	}
	e := driver.Entry{Key: keyAlignment, Value: n}
	switch {
	case i >= 0:
		meta = slices.Clone(meta)
		meta[i] = e
	case n != defaultAlign:
		meta = append(driver.Metadata{e}, meta...)
	}
	return meta, int64(n), nil
}

// layout makes the structure of a file, and the places of its tensors.
func layout(p *driver.Plan, o *WriteOptions) (*driver.Layout, error) {
	meta, align, err := aligned(p.Metadata, o)
	if err != nil {
		return nil, err
	}
	if no, _ := meta.Get(keySplitNo); no == nil || no == uint16(0) { // the first part says it for all
		meta = withQuantVersion(meta, p.Tensors)
	}
	le := binary.LittleEndian
	b := le.AppendUint32([]byte(magic), writeVersion)
	b = le.AppendUint64(le.AppendUint64(b, uint64(len(p.Tensors))), uint64(len(meta)))
	was := originals(p)
	for _, e := range meta {
		b = appendText(b, e.Key)
		if v := was[e.Key]; v.unchanged(e.Value) {
			b = append(le.AppendUint32(b, uint32(v.typ)), v.value...)
		} else if b, err = appendValue(b, e.Value); err != nil {
			return nil, refuse(fmt.Sprintf("metadata %q", e.Key), format.ErrUnsupported, "%v", err)
		}
	}
	l := &driver.Layout{Offsets: make([]int64, len(p.Tensors))}
	at, ok := int64(0), true
	for i := range p.Tensors {
		t := &p.Tensors[i]
		l.Offsets[i] = at
		b = le.AppendUint32(appendText(b, t.Name), uint32(len(t.Shape)))
		for k := range t.Shape {
			b = le.AppendUint64(b, uint64(t.Shape[len(t.Shape)-1-k]))
		}
		code, _ := codeIn(p, t)
		b = le.AppendUint64(le.AppendUint32(b, code), uint64(at))
		if at, ok = wire.AlignUp(at+t.Size, align); !ok || at < 0 {
			return nil, refuse("tensors", format.ErrLimit, "the file would exceed 2^63 bytes")
		}
	}
	data, _ := wire.AlignUp(int64(len(b)), align)
	for i := range l.Offsets {
		l.Offsets[i] += data
	}
	if n := len(p.Tensors); n > 0 && p.Tensors[n-1].Encoding != nil && p.Tensors[n-1].Encoding.BlockBytes == 0 {
		at -= -p.Tensors[n-1].Size & (align - 1) // it would be read as longer
	}
	if l.Size = data + at; l.Size < 0 {
		return nil, refuse("tensors", format.ErrLimit, "the file would exceed 2^63 bytes")
	}
	l.Parts = []driver.Part{{Bytes: b}}
	return l, nil
}
