package npy

import (
	"fmt"
	"math"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/format/plan"
	"github.com/weightmap/weightmap/internal/wire"
	"github.com/weightmap/weightmap/internal/zip"
	"github.com/weightmap/weightmap/tensor"
)

// Create starts writing the only tensor of p to a .npy file at path. If the plan has
// metadata, a graph, quantization, or a tensor name other than the file's, which the format
// cannot hold, Create returns a [format.LossError] unless the options accept the losses.
// Nil options work.
func Create(path string, p *format.Plan, o *format.WriteOptions) (*format.Writer, error) {
	return fileCodec.Create(path, p, o)
}

// CreateArchive starts writing the tensors of p to a .npz file at path, stored and
// aligned so that they can be viewed. Losses are as for Create.
func CreateArchive(path string, p *format.Plan, o *format.WriteOptions) (*format.Writer, error) {
	return archiveCodec.Create(path, p, o)
}

// Losses implements driver.Lossy. A file is the name of its tensor; where a stream
// ends up is not known.
func (fileFormat) Losses(p *plan.Plan, o *plan.WriteOptions, l *plan.LossList) {
	losses(p, l, single)
	if n := len(p.Tensors); n != 1 {
		l.Fixed(plan.LossTensors, "", fmt.Errorf("%w: %d: a .npy file holds one tensor", format.ErrUnsupported, n))
		return
	}
	if name, err := nameOf(o.Path); o.Path != "" && (err != nil || name != p.Tensors[0].Name) {
		l.Renamed(p, 0, fmt.Sprintf("the tensor of a .npy file has the file's name, %q", name))
	}
}

// Losses implements driver.Lossy.
func (archiveFormat) Losses(p *plan.Plan, _ *plan.WriteOptions, l *plan.LossList) {
	losses(p, l, archive)
}

// losses lists what a .npy file or an archive cannot hold.
func losses(p *plan.Plan, l *plan.LossList, kind string) {
	l.TensorsOnly(p, "NumPy")
	for i := range p.Tensors {
		t := &p.Tensors[i]
		if e := elemFor(t); e == nil || e == &listed && (kind != archive || !isReadBack(t)) {
			l.Fixed(plan.LossDType, t.Name, fmt.Errorf("%w: NumPy has no %s", format.ErrUnsupported, t.TypeName()))
		}
		if len(t.Shape) > maxRank {
			l.Fixed(plan.LossShape, t.Name, fmt.Errorf("%w: %d dims, NumPy has at most %d", format.ErrUnsupported, len(t.Shape), maxRank))
		}
	}
}

// Layout implements driver.Layouter: a header and one tensor.
func (fileFormat) Layout(p *plan.Plan, _ *plan.WriteOptions) (*driver.Layout, error) {
	t := &p.Tensors[0]
	head := encodeHeader(t)
	at := int64(len(head))
	return &driver.Layout{Size: at + t.Size, Offsets: []int64{at}, Parts: []driver.Part{{Bytes: head}}}, nil
}

// Layout implements driver.Layouter. All is known in advance except the checksums.
func (archiveFormat) Layout(p *plan.Plan, _ *plan.WriteOptions) (*driver.Layout, error) {
	l, err := archiveLayout(p, make([]uint64, len(p.Tensors)))
	if err != nil || len(p.Tensors) == 0 {
		return l, err
	}
	l.Sums = driver.CRC32
	l.Late = func(sums []uint64) ([]driver.Part, error) {
		l, err := archiveLayout(p, sums)
		return l.Parts, err
	}
	return l, nil
}

// archiveLayout returns the headers of all tensors, whose data has the given checksums, and the directory.
func archiveLayout(p *plan.Plan, sums []uint64) (*driver.Layout, error) {
	l := &driver.Layout{}
	var central wire.Buffer
	for i := range p.Tensors {
		t := &p.Tensors[i]
		head := encodeHeader(t)
		m := zip.Made{Name: t.Name + extension, Size: int64(len(head)) + t.Size, At: l.Size, Sum: tensor.CombineCRC32(tensor.CRC32(head), uint32(sums[i]), t.Size)}
		if len(m.Name) > math.MaxUint16 {
			return nil, wire.Refuse("", "tensors", "%w: the name %.40q... has %d bytes, at most %d are possible",
				format.ErrLimit, t.Name, len(t.Name), math.MaxUint16-len(extension))
		}
		b := append(m.LocalHeader(alignment), head...)
		m.CentralHeader(&central)
		l.Parts = append(l.Parts, driver.Part{Offset: l.Size, Bytes: b})
		l.Offsets = append(l.Offsets, l.Size+int64(len(b)))
		l.Size = l.Offsets[i] + t.Size
	}
	at := l.Size
	zip.AppendEnd(&central, len(p.Tensors), int64(len(central)), at)
	l.Size += int64(len(central))
	l.Parts = append(l.Parts, driver.Part{Offset: at, Bytes: central})
	return l, nil
}
