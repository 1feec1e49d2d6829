package tsr

import (
	"fmt"
	"math"
	"slices"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/wire"
	"github.com/weightmap/weightmap/tensor"
)

// wantsDir reports whether p is written as a directory.
func wantsDir(p *schema.Schema, o *driver.LayoutOptions) bool {
	return o.Path != "" && (o.IsDir || len(p.Tensors) > 1)
}

// Layout implements driver.Writer. Each file has a header and one tensor.
func (fileFormat) Layout(p *schema.Schema, o *driver.LayoutOptions) (*driver.Layout, error) {
	l := &driver.Layout{Size: headerSize + p.Tensors[0].Size, Offsets: []int64{headerSize}}
	for i := range p.Tensors {
		l.Parts = append(l.Parts, driver.Part{Bytes: encode(&p.Tensors[i])})
	}
	if wantsDir(p, o) {
		l.Files, _ = fileNames(p.Tensors)
	}
	return l, nil
}

// encode returns the header of a tensor, which Losses has checked.
func encode(t *tensor.Info) []byte {
	b := make(wire.Buffer, 0, headerSize)
	b.Str(magic)
	b.I32(version)
	b.I32(headerSize)
	b.I32(0) // reserved_1
	b.I32(codeOf(t.DType))
	b.I32(int32(len(t.Shape)))
	for range maxRank - len(t.Shape) {
		b.I32(1)
	}
	for _, d := range t.Shape {
		b.I32(int32(d))
	}
	b.I64(t.Size / t.DType.Size())
	b.I64(0) // reserved_2
	b.I64(0) // reserved_3
	return b
}

// Losses implements driver.Writer.
func (fileFormat) Losses(p *schema.Schema, o *driver.LayoutOptions, l *schema.LossList) error {
	l.TensorsOnly(p, "TSR")
	l.DTypes(p, "TSR", dtypes)
	for i := range p.Tensors {
		t := &p.Tensors[i]
		isLarge := slices.ContainsFunc(t.Shape, func(d int64) bool { return d > math.MaxInt32 })
		if len(t.Shape) > maxRank || isLarge {
			l.Fixed(schema.LossShape, t.Name, fmt.Errorf("%w: shape %v, not up to 4 dims of 31 bits",
				format.ErrUnsupported, t.Shape))
		}
	}
	n := len(p.Tensors)
	dir := wantsDir(p, o)
	switch {
	case n == 0:
		l.Fixed(schema.LossTensors, "", fmt.Errorf("%w: there are none", format.ErrUnsupported))
	case n > 1 && !dir:
		l.Fixed(schema.LossTensors, "", fmt.Errorf("%w: %d: one file holds one tensor",
			format.ErrUnsupported, n))
	case dir:
		_, reasons := fileNames(p.Tensors)
		for i, why := range reasons {
			if why != "" {
				l.Renamed(p, i, "not usable as a file name: "+why)
			}
		}
	}
	return nil
}
