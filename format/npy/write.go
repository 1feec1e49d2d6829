package npy

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"unicode/utf8"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/wire"
	"github.com/weightmap/weightmap/tensor"
)

// Create starts writing the one tensor of p to a .npy file at path. What the format has
// no place for is refused with a [format.LossError], or left out if the options accept
// that: metadata, graph, quantization, and a name other than the file's, which is what
// it is read back under. Nil options work.
func Create(path string, p *format.Plan, o *format.WriteOptions) (format.Writer, error) {
	return fileCodec.Create(path, p, o)
}

// NewWriter starts writing the one tensor of p to w, straight through.
func NewWriter(w io.Writer, p *format.Plan, o *format.WriteOptions) (format.Writer, error) {
	return fileCodec.NewWriter(w, p, o)
}

// CreateArchive starts writing the tensors of p to a .npz file at path, stored and
// aligned so that they can be viewed. Losses are as for Create.
func CreateArchive(path string, p *format.Plan, o *format.WriteOptions) (format.Writer, error) {
	return archiveCodec.Create(path, p, o)
}

// NewArchiveWriter starts writing a .npz file to w. Its headers have sums of the data,
// so it is assembled elsewhere first, as Spool says.
func NewArchiveWriter(w io.Writer, p *format.Plan, o *format.WriteOptions) (format.Writer, error) {
	return archiveCodec.NewWriter(w, p, o)
}

// losses lists what a kind of file cannot hold.
func losses(p *driver.Plan, l *driver.LossList, kind string) {
	l.AllQuantization(p, "NumPy's files have no quantization parameters")
	l.AllMetadata(p, "NumPy's files have no metadata")
	l.AnyGraph(p, "NumPy's files have no graph")
	for i := range p.Tensors {
		t := &p.Tensors[i]
		if e := elemFor(t); e == nil || e == &listed && (kind != archive || !isReadBack(t)) {
			l.Fixed(driver.LossDType, t.Name, fmt.Errorf("%w: NumPy has no %s", format.ErrUnsupported, t.TypeName()))
		}
		if len(t.Shape) > maxRank {
			l.Fixed(driver.LossShape, t.Name, fmt.Errorf("%w: %d dims, NumPy has at most %d", format.ErrUnsupported, len(t.Shape), maxRank))
		}
	}
}

// refuse is the error for a plan that cannot be written.
func refuse(t *tensor.Info, text string, args ...any) error {
	return wire.Error("", fmt.Sprintf("tensor %q", t.Name), -1, fmt.Errorf("%w: %w: %s", format.ErrPlan, format.ErrLimit, fmt.Sprintf(text, args...)))
}

// fileLayout places one tensor behind its header.
func fileLayout(p *driver.Plan) (*driver.Layout, error) {
	t := &p.Tensors[0]
	head := encodeHeader(t)
	at := int64(len(head))
	if t.Size > math.MaxInt64-at {
		return nil, refuse(t, "the file would exceed 2^63 bytes")
	}
	return &driver.Layout{Size: at + t.Size, Offsets: []int64{at}, Parts: []driver.Part{{Bytes: head}}}, nil
}

// archiveLayout places headers and data of all tensors, then the directory. All is known
// but the sums, which come late.
func archiveLayout(p *driver.Plan) (*driver.Layout, error) {
	l := &driver.Layout{Sums: driver.CRC32}
	var central wire.Buffer
	spots := make([]spot, len(p.Tensors))
	at := int64(0)
	for i := range p.Tensors {
		t := &p.Tensors[i]
		m, head := newMade(t, at), encodeHeader(t)
		if len(m.name) > math.MaxUint16 {
			return nil, refuse(t, "the name has %d bytes, at most %d are possible", len(t.Name), math.MaxUint16-len(extension))
		}
		m.size = int64(len(head)) + t.Size
		local := m.localHeader(at)
		if m.size < 0 || m.size > math.MaxInt64-at-int64(len(local))-1<<20 {
			return nil, refuse(t, "the file would exceed 2^63 bytes")
		}
		spots[i] = spot{local: at + localSum, central: central.Len() + centralSum, head: tensor.CRC32(head), size: t.Size}
		m.centralHeader(&central)
		l.Parts = append(l.Parts, driver.Part{Offset: at, Bytes: append(local, head...)})
		l.Offsets = append(l.Offsets, at+int64(len(local)+len(head)))
		at = l.Offsets[i] + t.Size
	}
	size := central.Len()
	appendEnd(&central, len(p.Tensors), int64(size), at)
	l.Size = at + int64(central.Len())
	if l.Size < 0 {
		return nil, wire.Error("", "tensors", -1, fmt.Errorf("%w: %w: the file would exceed 2^63 bytes", format.ErrPlan, format.ErrLimit))
	}
	directory := driver.Part{Offset: at, Bytes: central.Bytes()}
	if len(p.Tensors) == 0 {
		l.Parts = append(l.Parts, directory)
		return l, nil
	}
	l.Late = func(sums []uint64) ([]driver.Part, error) {
		parts := make([]driver.Part, 0, len(spots)+1)
		for i, s := range spots {
			sum := binary.LittleEndian.AppendUint32(nil, tensor.CombineCRC32(s.head, uint32(sums[i]), s.size))
			copy(directory.Bytes[s.central:], sum)
			parts = append(parts, driver.Part{Offset: s.local, Bytes: sum})
		}
		return append(parts, directory), nil
	}
	return l, nil
}

// spot is where the sum of an array goes, and what is known of it.
type spot struct {
	local   int64
	central int
	head    uint32 // sum of the header
	size    int64  // of the data
}

// Offsets of the sum in the headers of an entry.
const (
	localSum   = 14
	centralSum = 16
)

// made is an entry to be written.
type made struct {
	name  string
	flags uint16
	at    int64
	size  int64
}

func newMade(t *tensor.Info, at int64) *made {
	m := &made{name: t.Name + extension, at: at}
	for i := range len(t.Name) {
		if t.Name[i] >= utf8.RuneSelf {
			m.flags = flagUTF8
		}
	}
	return m
}

// isWide reports whether the sizes do not fit 32 bits.
func (m *made) isWide() bool { return m.size >= wide32 }

// Version of the format that a reader needs, and the date of all entries, 1980-01-01,
// which NumPy writes too: the same tensors give the same bytes.
const (
	plainVersion = 20
	wideVersion  = 45
	madeOnUnix   = 3 << 8
	noDate       = 0x21
	fileMode     = 0o100644 << 16
	alignField   = 0xd935 // an extra field of alignment and zeros, as Android's zipalign writes
)

func (m *made) version() uint16 {
	if m.isWide() || m.at >= wide32 {
		return wideVersion
	}
	return plainVersion
}

// common appends what both headers have between version and name length.
func (m *made) common(b *wire.Buffer) {
	b.U16(m.version())
	b.U16(m.flags)
	b.U16(stored)
	b.U16(0) // time
	b.U16(noDate)
	b.U32(0) // CRC-32, known late
	size := uint32(min(m.size, wide32))
	b.U32(size)
	b.U32(size)
	b.U16(uint16(len(m.name)))
}

// localHeader returns the header beside the data, as long as aligning the data takes.
func (m *made) localHeader(at int64) []byte {
	var extra wire.Buffer
	if m.isWide() {
		extra.U16(extraZip64)
		extra.U16(16)
		extra.I64(m.size)
		extra.I64(m.size)
	}
	const least = 6
	pad := int(-(at + localLen + int64(len(m.name)+extra.Len())) & (alignment - 1))
	if 0 < pad && pad < least {
		pad += alignment
	}
	if pad > 0 {
		extra.U16(alignField)
		extra.U16(uint16(pad - 4))
		extra.U16(alignment)
		extra.Fill(pad-least, 0)
	}
	var b wire.Buffer
	b.Str(localMagic)
	m.common(&b)
	b.U16(uint16(extra.Len()))
	b.Str(m.name)
	b.Raw(extra.Bytes())
	return b.Bytes()
}

// centralHeader appends the record of the directory.
func (m *made) centralHeader(b *wire.Buffer) {
	var extra wire.Buffer
	if m.isWide() {
		extra.I64(m.size)
		extra.I64(m.size)
	}
	if m.at >= wide32 {
		extra.I64(m.at)
	}
	b.Str(centralMagic)
	b.U16(madeOnUnix | m.version())
	m.common(b)
	if extra.Len() > 0 {
		b.U16(uint16(extra.Len() + 4))
	} else {
		b.U16(0)
	}
	b.U16(0) // comment
	b.U16(0) // disk
	b.U16(0) // internal attributes
	b.U32(fileMode)
	b.U32(uint32(min(m.at, wide32)))
	b.Str(m.name)
	if extra.Len() > 0 {
		b.U16(extraZip64)
		b.U16(uint16(extra.Len()))
		b.Raw(extra.Bytes())
	}
}

// appendEnd appends the records behind a directory of that size at off.
func appendEnd(b *wire.Buffer, n int, size, off int64) {
	if n >= wide16 || size >= wide32 || off >= wide32 {
		at := off + int64(b.Len())
		b.Str(end64Magic)
		b.U64(end64Len - 12)
		b.U16(madeOnUnix | wideVersion)
		b.U16(wideVersion)
		b.U32(0) // disks
		b.U32(0)
		b.U64(uint64(n))
		b.U64(uint64(n))
		b.I64(size)
		b.I64(off)
		b.Str(locatorMagic)
		b.U32(0)
		b.I64(at)
		b.U32(1)
	}
	b.Str(endMagic)
	b.U16(0) // disks
	b.U16(0)
	b.U16(uint16(min(n, wide16)))
	b.U16(uint16(min(n, wide16)))
	b.U32(uint32(min(size, wide32)))
	b.U32(uint32(min(off, wide32)))
	b.U16(0) // comment
}
