package flat

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/tensor"
)

// Losses implements driver.Lossy.
func (Driver) Losses(p *driver.Plan, _ *driver.WriteOptions, l *driver.LossList) {
	l.AllMetadata(p, "a flat file has no metadata")
	l.AllQuantization(p, "a flat file has no quantisation parameters")
	l.AnyGraph(p, "a flat file has no graph")
	for _, t := range p.Tensors {
		if !slices.Contains(dtypes, t.DType) {
			l.Fixed(format.LossDType, t.Name, fmt.Errorf("%w: %s", format.ErrUnsupported, t.TypeName()))
		}
		if len(t.Shape) > math.MaxUint8 || len(t.Name) > math.MaxUint16 {
			l.Fixed(format.LossShape, t.Name, fmt.Errorf("%w: rank %d, name of %d bytes", format.ErrUnsupported, len(t.Shape), len(t.Name)))
		}
	}
}

// Layout implements driver.Layouter: all but the sums follows from the plan.
func (Driver) Layout(p *driver.Plan, _ *driver.WriteOptions) (*driver.Layout, error) {
	records := int64(0)
	for _, t := range p.Tensors {
		records += recordSize + 8*int64(len(t.Shape)) + int64(len(t.Name))
	}
	l := &driver.Layout{Size: headerSize + records, Sums: driver.CRC32}
	for _, t := range p.Tensors {
		l.Offsets = append(l.Offsets, align(l.Size))
		l.Size = align(l.Size) + t.Size
	}
	l.Late = func(sums []uint64) ([]driver.Part, error) {
		return []driver.Part{{Bytes: head(p.Tensors, l.Offsets, sums)}}, nil
	}
	return l, nil
}

// head makes everything before the data.
func head(tensors []tensor.Info, offsets []int64, sums []uint64) []byte {
	le, b := binary.LittleEndian, make([]byte, headerSize)
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
	copy(b, magic)
	le.PutUint32(b[4:], uint32(len(tensors)))
	le.PutUint32(b[8:], tensor.CRC32(b[headerSize:]))
	le.PutUint32(b[12:], uint32(len(b)-headerSize))
	return b
}
