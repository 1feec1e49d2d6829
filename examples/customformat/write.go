package flat

import (
	"math"
	"slices"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/tensor"
)

// Losses implements driver.Writer.
func (flat) Losses(p *schema.Schema, _ *driver.LayoutOptions, l *schema.LossList) error {
	l.TensorsOnly(p, name)
	l.DTypes(p, name, dtypes)
	return nil
}

// Layout implements driver.Writer. Everything but the checksums depends on the schema alone.
func (flat) Layout(p *schema.Schema, _ *driver.LayoutOptions) (*driver.Layout, error) {
	l := &driver.Layout{Size: headerSize, Sums: driver.CRC32}
	for _, t := range p.Tensors {
		l.Size += recordSize + 8*int64(len(t.Shape)) + int64(len(t.Name))
		if len(t.Shape) > math.MaxUint8 || len(t.Name) > math.MaxUint16 || l.Size > math.MaxUint32 {
			return nil, driver.Errorf(name, "tensors", -1, format.ErrSchema, "%.100q: %d dims or %d bytes of its name are too many", t.Name, len(t.Shape), len(t.Name))
		}
	}
	for _, t := range p.Tensors {
		l.Offsets = append(l.Offsets, align(l.Size))
		l.Size = align(l.Size) + t.Size
	}
	l.Late = func(sums []uint64) ([]driver.Part, error) {
		return []driver.Part{{Bytes: head(p.Tensors, l.Offsets, sums)}}, nil
	}
	return l, nil
}

// head returns the bytes before the data.
func head(tensors []tensor.Info, offsets []int64, sums []uint64) []byte {
	b := append([]byte(magic), make([]byte, headerSize-len(magic))...)
	for i, t := range tensors {
		b = append(b, byte(slices.Index(dtypes, t.DType)), byte(len(t.Shape)))
		b = le.AppendUint16(b, uint16(len(t.Name)))
		b = le.AppendUint32(b, uint32(sums[i]))
		b = le.AppendUint64(b, uint64(offsets[i]))
		for _, d := range t.Shape {
			b = le.AppendUint64(b, uint64(d))
		}
		b = append(b, t.Name...)
	}
	le.PutUint32(b[4:], uint32(len(tensors)))
	le.PutUint32(b[8:], tensor.CRC32(b[headerSize:]))
	le.PutUint32(b[12:], uint32(len(b)-headerSize))
	return b
}
