package npy

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/wire"
	"github.com/weightmap/weightmap/internal/zip"
	"github.com/weightmap/weightmap/tensor"
)

// Losses implements driver.Writer. A file is the name of its tensor; where a stream
// ends up is not known.
func (fileFormat) Losses(p *schema.Schema, o *driver.LayoutOptions, l *schema.LossList) error {
	losses(p, l, formatName)
	n := len(p.Tensors)
	if n != 1 {
		l.Fixed(schema.LossTensors, "", fmt.Errorf("%w: a .npy file holds one tensor, not %d",
			format.ErrUnsupported, n))
		return nil
	}
	if o.Path == "" {
		return nil
	}
	name, err := nameOf(o.Path)
	if err != nil || name != p.Tensors[0].Name {
		l.Renamed(p, 0, fmt.Sprintf("the tensor of a .npy file has the file's name, %q", name))
	}
	return nil
}

// Losses implements driver.Writer.
func (archiveFormat) Losses(p *schema.Schema, _ *driver.LayoutOptions, l *schema.LossList) error {
	losses(p, l, archiveName)
	return nil
}

// losses lists what a .npy file or an archive cannot hold.
func losses(p *schema.Schema, l *schema.LossList, kind string) {
	l.TensorsOnly(p, "NumPy")
	for i := range p.Tensors {
		t := &p.Tensors[i]
		e := elemFor(t)
		if e == nil || e == &listed && (kind != archiveName || !isReadBack(t)) {
			l.Fixed(schema.LossDType, t.Name, fmt.Errorf("%w: NumPy has no %s", format.ErrUnsupported,
				t.TypeName()))
		}
		if len(t.Shape) > maxRank {
			l.Fixed(schema.LossShape, t.Name, fmt.Errorf("%w: %d dims, NumPy has at most %d",
				format.ErrUnsupported, len(t.Shape), maxRank))
		}
	}
}

// Layout implements driver.Writer: a header and one tensor.
func (fileFormat) Layout(p *schema.Schema, _ *driver.LayoutOptions) (*driver.Layout, error) {
	t := &p.Tensors[0]
	head := encodeHeader(t)
	at := int64(len(head))
	return &driver.Layout{
		Size:    at + t.Size,
		Offsets: []int64{at},
		Parts:   []driver.Part{{Bytes: head}},
	}, nil
}

// Layout implements driver.Writer. All is known in advance except the checksums.
func (archiveFormat) Layout(p *schema.Schema, _ *driver.LayoutOptions) (*driver.Layout, error) {
	l := &driver.Layout{Offsets: make([]int64, len(p.Tensors)), Sums: driver.CRC32}
	made := make([]zip.Made, len(p.Tensors))
	parts := make([]driver.Part, len(p.Tensors))
	for i := range p.Tensors {
		t := &p.Tensors[i]
		m := &made[i]
		head := encodeHeader(t)
		m.Name = t.Name + extension
		m.Size = int64(len(head)) + t.Size
		m.At = l.Size
		m.Sum = tensor.CRC32(head)
		if len(m.Name) > math.MaxUint16 {
			return nil, wire.Refuse("", "tensors",
				"%w: the name %.40q... has %d bytes, at most %d are possible", format.ErrLimit, t.Name,
				len(t.Name), math.MaxUint16-len(extension))
		}
		parts[i] = driver.Part{Offset: l.Size, Bytes: append(m.LocalHeader(alignment), head...)}
		l.Offsets[i] = l.Size + int64(len(parts[i].Bytes))
		l.Size = l.Offsets[i] + t.Size
	}
	end := driver.Part{Offset: l.Size, Bytes: zip.Directory(made, l.Size)}
	l.Size += int64(len(end.Bytes))
	l.Late = func(sums []uint64) ([]driver.Part, error) {
		for i, sum := range sums {
			made[i].Sum = tensor.CombineCRC32(made[i].Sum, uint32(sum), p.Tensors[i].Size)
			made[i].PutSum(parts[i].Bytes)
		}
		end.Bytes = zip.Directory(made, end.Offset)
		return append(parts, end), nil
	}
	if len(p.Tensors) == 0 {
		l.Parts = []driver.Part{end}
		l.Late = nil
	}
	return l, nil
}

// descrOf returns the descr of a tensor in its header.
func descrOf(t *tensor.Info) (descr string, fortran bool) {
	e := elemFor(t)
	if e == &listed {
		descr, fortran = strings.CutSuffix(t.Encoding.Name, inFortran)
		if strings.HasPrefix(descr, "[") || strings.HasPrefix(descr, "(") {
			return descr, fortran
		}
		return "'" + descr + "'", fortran
	}
	order := "<"
	if e.size == 1 {
		order = "|"
	}
	return "'" + order + e.code + "'", false
}

// isReadBack reports whether the reader would find the same type in the header of a tensor. For
// listed types this depends on their names.
func isReadBack(t *tensor.Info) bool {
	b := encodeHeader(t)
	p := &parser{entry: &zip.Member{}, first: func(int64) ([]byte, error) { return b, nil }}
	err := p.read(int64(len(b)) + t.Size)
	if err != nil || p.head.other == nil {
		return false
	}
	return new(parsed).encoding(&p.head).Name == t.Encoding.Name
}

// encodeHeader returns the header of a tensor as np.save of NumPy 1.24 writes it,
// which leaves room for the outermost dim to grow.
func encodeHeader(t *tensor.Info) []byte {
	descr, fortran := descrOf(t)
	order := "False"
	if fortran {
		order = "True"
	}
	shape := strings.ReplaceAll(strings.Trim(fmt.Sprint([]int64(t.Shape)), "[]"), " ", ", ")
	if len(t.Shape) == 1 {
		shape += ","
	}
	dict := fmt.Sprintf("{'descr': %s, 'fortran_order': %s, 'shape': (%s), }", descr, order, shape)
	if len(t.Shape) > 0 {
		const widest = 21 // digits
		dict += strings.Repeat(" ", widest-len(fmt.Sprint(t.Shape[0])))
	}
	dict += strings.Repeat(" ", alignment-(prefixLen+len(dict)+1)%alignment) + "\n"
	b := binary.LittleEndian.AppendUint16([]byte(magic+"\x01\x00"), uint16(len(dict)))
	return append(b, dict...)
}
