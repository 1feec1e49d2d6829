package mobi

import (
	"fmt"
	"slices"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/wire"
	"github.com/weightmap/weightmap/tensor"
)

// stored says how a constant is kept in the file.
type stored struct {
	size int64
	gzip bool
}

// plain keeps every constant as it is.
func (d *document) plain() []stored {
	kept := make([]stored, len(d.tensors))
	for i := range kept {
		kept[i].size = d.tensors[i].Size
	}
	return kept
}

// class orders constants so that all stay aligned for their dtype though there
// is no padding between them: each record ends at a multiple of what the next
// needs, since record headers take multiples of 8.
func (s stored) class() int {
	switch {
	case s.gzip:
		return 4
	case s.size%8 == 0:
		return 0
	case s.size%4 == 0:
		return 1
	case s.size%2 == 0:
		return 2
	}
	return 3
}

// isInOrder reports whether a plan lists its constants in the order that the file
// has them in without compression.
func isInOrder(p *driver.Plan) bool {
	return slices.IsSortedFunc(p.Tensors, func(a, b tensor.Info) int {
		return stored{size: a.Size}.class() - stored{size: b.Size}.class()
	})
}

// layout is where everything is in a file.
type layout struct {
	*document
	kept  []stored // by plan index
	order []int    // plan indices in file order
	at    []int64  // offsets of the records, in that order
	graph int64    // offset of the operator graph
	total int64    // size of the file
}

// layout finds the offsets of constants that are kept like this. It fails when
// the file would be larger than its size field can say.
func (d *document) layout(kept []stored) (*layout, error) {
	l := &layout{document: d, kept: kept, order: make([]int, len(kept)), at: make([]int64, len(kept))}
	for i := range l.order {
		l.order[i] = i
	}
	slices.SortStableFunc(l.order, func(a, b int) int { return kept[a].class() - kept[b].class() })
	end := int64(headerSize + len(d.head))
	if len(l.order) > 0 {
		head := d.headSize(l.order[0])
		data, _ := wire.AlignUp(end+head, alignment)
		end = data - head
	}
	for i, n := range l.order {
		l.at[i] = end
		// Held to the limit one by one, so that the sum cannot overflow.
		end += d.headSize(n) + min(kept[n].size, maxFileSize)
		if end > maxFileSize {
			break
		}
	}
	l.graph = end
	l.total = end + int64(len(d.graph)) + footerSize
	if l.total > maxFileSize {
		return nil, planError("total file size", fmt.Errorf("%w: more than the %d bytes that MOBI can describe", format.ErrLimit, int64(maxFileSize)))
	}
	return l, nil
}

// headSize returns the size of the record header of constant i.
func (d *document) headSize(i int) int64 {
	return recordMin + 8*int64(len(d.tensors[i].Shape))
}

// recordHead appends the record header of constant i.
func (d *document) recordHead(b *wire.Buffer, i int, size int64, gzip bool) {
	t := &d.tensors[i]
	code, _ := TypeOf(t.DType)
	typ := uint16(code)
	if gzip {
		typ |= gzipFlag
	}
	b.Grow(int(d.headSize(i)))
	b.U32(d.ids[i])
	b.U16(typ)
	b.U16(uint16(len(t.Shape)))
	for _, dim := range t.Shape {
		b.I64(dim)
	}
	b.I64(size)
}

// front returns everything before the first constant.
func (l *layout) front() []byte {
	first := l.graph
	if len(l.at) > 0 {
		first = l.at[0]
	}
	var b wire.Buffer
	b.Grow(int(first))
	b.U32(magicNumber)
	b.U16(version)
	b.U16(0)
	b.U32(0)
	b.U32(uint32(l.flags))
	b.U32(uint32(l.total))
	b.U32(headerSize)
	b.U32(uint32(first))
	b.U32(uint32(l.graph))
	b.Put32(checksumAt, tensor.CRC32(b.Bytes()))
	b.Raw(l.head)
	b.Fill(int(first)-b.Len(), 0)
	return b.Bytes()
}

// begin writes everything before the first constant.
func (l *layout) begin(t driver.Target) error {
	_, err := t.WriteAt(l.front(), 0)
	return err
}

// finish writes operators and footer. sums are those of the records, by plan
// index.
func (l *layout) finish(t driver.Target, sums []uint32) error {
	sum := l.footer.update(l.footer.empty(), l.front())
	for _, n := range l.order {
		sum = l.footer.combine(sum, sums[n], l.headSize(n)+l.kept[n].size)
	}
	sum = l.footer.update(sum, l.document.graph)
	var b wire.Buffer
	b.Raw(l.document.graph)
	b.U32(sum)
	_, err := t.WriteAt(b.Bytes(), l.graph)
	return err
}

// checkDType refuses element types without a code, by the name that the tensor has
// for them.
func checkDType(d tensor.DType, name string) error {
	if _, ok := TypeOf(d); !ok {
		return fmt.Errorf("%w: MOBI has no %s tensors", format.ErrUnsupported, name)
	}
	return nil
}

// planError says what of a plan cannot be written.
func planError(field string, err error) error {
	return wire.Error(name, field, -1, fmt.Errorf("%w: %w", format.ErrPlan, err))
}
