package tsr

import (
	"fmt"
	"io"
	"math"
	"os"
	"slices"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/wire"
	"github.com/weightmap/weightmap/tensor"
)

// Create starts writing the tensors of p, float32, int8 or int32 of up to four
// dims: to the file at path, or into the directory at path (see [CreateDir])
// when that ends in a separator, is a directory already, or there are several
// tensors. A file does not store its tensor's name: it is read back under that
// of the file, which is the caller's choice.
// What TSR cannot hold is refused with a [format.LossError], or left out
// if the options accept that: metadata, graph, quantization, names in a
// directory that cannot be those of files.
func Create(path string, p *format.Plan, o *WriteOptions) (*format.Writer, error) {
	o = o.orDefault()
	return format.With(fileFormat{*o}).Create(path, p, &o.WriteOptions)
}

// NewWriter starts writing the one tensor of p to w, straight through.
func NewWriter(w io.Writer, p *format.Plan, o *WriteOptions) (*format.Writer, error) {
	o = o.orDefault()
	return format.With(fileFormat{*o}).NewWriter(w, p, &o.WriteOptions)
}

// wantsDir decides between a file and a directory.
func (d fileFormat) wantsDir(p *driver.Plan, path string) bool {
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

// Layout implements driver.Layouter. Each tensor is behind its header, in the one file or in one
// of a directory.
func (d fileFormat) Layout(p *driver.Plan, o *driver.WriteOptions) (*driver.Layout, error) {
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
// of p. It appears at path, whose parent must exist, when the writer is closed. Only an
// empty directory is replaced; a path with anything else is refused. See
// [Create] for what p may contain; names must also work as file names (see the
// package documentation).
func CreateDir(path string, p *format.Plan, o *WriteOptions) (*format.Writer, error) {
	c := *o.orDefault()
	c.directory = true
	return Create(path, p, &c)
}

// encode returns the header of a tensor that can have one.
func encode(t *tensor.Info) []byte {
	var b wire.Buffer
	b.Grow(headerSize)
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
	return b.Bytes()
}

// Losses implements driver.Lossy.
func (d fileFormat) Losses(p *driver.Plan, o *driver.WriteOptions, l *driver.LossList) {
	l.TensorsOnly(p, "TSR")
	l.DTypes(p, "TSR", dtypes)
	for i := range p.Tensors {
		t := &p.Tensors[i]
		if len(t.Shape) > maxRank || slices.ContainsFunc(t.Shape, func(d int64) bool { return d > math.MaxInt32 }) {
			l.Fixed(driver.LossShape, t.Name, fmt.Errorf("%w: shape %v, not up to 4 dims of 31 bits", format.ErrUnsupported, t.Shape))
		}
	}
	switch n, dir := len(p.Tensors), d.wantsDir(p, o.Path); {
	case n == 0:
		l.Fixed(driver.LossTensors, "", fmt.Errorf("%w: there are none", format.ErrUnsupported))
	case n > 1 && !dir:
		l.Fixed(driver.LossTensors, "", fmt.Errorf("%w: %d: one file holds one tensor", format.ErrUnsupported, n))
	case dir:
		_, changed := fileNames(p.Tensors)
		for _, c := range changed {
			l.Renamed(p, c.tensor, "not usable as a file name: "+c.why)
		}
	}
}
