package tsr

import (
	"cmp"
	"fmt"
	"math"
	"os"
	"slices"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/wire"
	"github.com/weightmap/weightmap/tensor"
)

// Create starts writing the tensors of p, which are float32, int8 or int32 and
// have up to four dims. It writes a directory (see [CreateDir]) if path ends in
// a separator or is a directory already, or if p has several tensors; otherwise
// it writes one file. A file does not store the name of its tensor: readers
// name the tensor after the file.
//
// Create fails with a [format.LossError] if p has metadata, a graph,
// quantization, or, for a directory, names that cannot be file names, unless
// the options accept the loss.
func Create(path string, p *schema.Schema, o *WriteOptions) (*format.Writer, error) {
	o = cmp.Or(o, new(WriteOptions))
	return format.With(fileFormat{*o}).Create(path, p, &o.WriteOptions)
}

// wantsDir reports whether p is written as a directory.
func (d fileFormat) wantsDir(p *schema.Schema, path string) bool {
	if d.opts.directory {
		return true
	}
	if path == "" {
		return false
	}
	if len(p.Tensors) > 1 || os.IsPathSeparator(path[len(path)-1]) {
		return true
	}
	st, err := os.Stat(path)
	return err == nil && st.IsDir()
}

// Layout implements driver.Writer. Each file has a header and one tensor.
func (d fileFormat) Layout(p *schema.Schema, o *driver.WriteOptions) (*driver.Layout, error) {
	l := &driver.Layout{Size: headerSize + p.Tensors[0].Size, Offsets: []int64{headerSize}}
	for i := range p.Tensors {
		l.Parts = append(l.Parts, driver.Part{Bytes: encode(&p.Tensors[i])})
	}
	if d.wantsDir(p, o.Path) {
		l.Files, _ = fileNames(p.Tensors)
	}
	return l, nil
}

// CreateDir starts writing a directory with a file "<name>.tsr" for each tensor
// of p. The directory appears at path when the writer is closed. The parent of
// path must exist, and path itself may only be an empty directory. [Create]
// describes what p may contain; tensor names must also be portable file names
// (see the package documentation).
func CreateDir(path string, p *schema.Schema, o *WriteOptions) (*format.Writer, error) {
	c := *cmp.Or(o, new(WriteOptions))
	c.directory = true
	return Create(path, p, &c)
}

// encode returns the header of a tensor, which Losses has checked.
func encode(t *tensor.Info) []byte {
	b := make(wire.Buffer, 0, headerSize)
	b.Str(magic)
	for _, v := range []int32{version, headerSize, 0, codeOf(t.DType), int32(len(t.Shape))} {
		b.I32(v)
	}
	for range maxRank - len(t.Shape) {
		b.I32(1)
	}
	for _, d := range t.Shape {
		b.I32(int32(d))
	}
	b.I64(t.Size / t.DType.Size())
	b.I64(0)
	b.I64(0)
	return b
}

// Losses implements driver.Writer.
func (d fileFormat) Losses(p *schema.Schema, o *driver.WriteOptions, l *schema.LossList) error {
	l.TensorsOnly(p, "TSR")
	l.DTypes(p, "TSR", dtypes)
	for i := range p.Tensors {
		t := &p.Tensors[i]
		if len(t.Shape) > maxRank || slices.ContainsFunc(t.Shape, func(d int64) bool { return d > math.MaxInt32 }) {
			l.Fixed(schema.LossShape, t.Name, fmt.Errorf("%w: shape %v, not up to 4 dims of 31 bits", format.ErrUnsupported, t.Shape))
		}
	}
	switch n, dir := len(p.Tensors), d.wantsDir(p, o.Path); {
	case n == 0:
		l.Fixed(schema.LossTensors, "", fmt.Errorf("%w: there are none", format.ErrUnsupported))
	case n > 1 && !dir:
		l.Fixed(schema.LossTensors, "", fmt.Errorf("%w: %d: one file holds one tensor", format.ErrUnsupported, n))
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
