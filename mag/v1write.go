package mag

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/wire"
	"github.com/weightmap/weightmap/tensor"
)

// layoutV1 returns the layout of version 1: header and records, then the tensors,
// each at a multiple of 64. Since the records hold the digests, they are written
// last, unless there are none.
func layoutV1(p *schema.Schema, d fileFormat) (*driver.Layout, error) {
	for i := range p.Tensors {
		name := p.Tensors[i].Name
		if len(name) > maxKey {
			return nil, wire.Refuse(formatName, fmt.Sprintf("tensor %q", name),
				"%w: the name has %d bytes, at most %d are possible", format.ErrLimit, len(name), maxKey)
		}
	}
	l := &driver.Layout{Offsets: make([]int64, len(p.Tensors)), Sums: driver.XXH64}
	e := &encoderV1{schema: p, d: d, offsets: l.Offsets}
	unknown := make([]uint64, len(p.Tensors))
	l.Size = int64(len(e.encode(unknown)))
	for i := range p.Tensors {
		fillGap(l)
		l.Offsets[i] = l.Size
		l.Size += p.Tensors[i].Size
	}
	if len(p.Tensors) > 0 {
		fillGap(l)
	}
	if d.NoDigests || len(p.Tensors) == 0 {
		head := driver.Part{Bytes: e.encode(unknown)}
		l.Parts = slices.Insert(l.Parts, 0, head)
		return l, nil
	}
	l.Late = func(sums []uint64) ([]driver.Part, error) {
		return []driver.Part{{Bytes: e.encode(sums)}}, nil
	}
	return l, nil
}

// fillGap fills the file up to where a tensor may begin.
func fillGap(l *driver.Layout) {
	n := -l.Size & (dataAlign - 1)
	if n == 0 {
		return
	}
	l.Parts = append(l.Parts, driver.Part{Offset: l.Size, Bytes: gap[:n]})
	l.Size += n
}

var gap = bytes.Repeat([]byte{gapByte}, dataAlign)

// encoderV1 encodes header and records.
type encoderV1 struct {
	schema  *schema.Schema
	d       fileFormat
	offsets []int64
	buf     wire.Buffer
}

// encode returns header and records with the digests of the tensors. They are valid until the next
// call.
func (e *encoderV1) encode(sums []uint64) []byte {
	p := e.schema
	d := e.d
	w := e.buf[:0]
	w = slices.Grow(w, headerSize+4*typicalRecord*(len(p.Metadata)+len(p.Tensors)))
	w.Str(magic)
	w.U32(wordV1)
	checksumAt := len(w)
	w.U32(0)                      // checksum, filled in below
	w.U32(uint32(len(p.Tensors))) // num_tensors
	entriesAt := len(w)
	w.U32(0) // num_meta_kv, filled in below
	w.U32(0) // aux
	entries := uint32(len(p.Metadata))
	for _, m := range p.Metadata {
		kind, bits, _ := payload(m.Value)
		appendEntry(&w, kind, bits, m.Key)
	}
	for i := range p.Tensors {
		name := p.Tensors[i].Name
		if hasDigest(name) && !d.NoDigests {
			appendEntry(&w, metadataInt64, sums[i], digestPrefix+name)
			entries++
		}
	}
	binary.LittleEndian.PutUint32(w[entriesAt:], entries)
	for i := range p.Tensors {
		appendTensor(&w, &p.Tensors[i], e.offsets[i])
	}
	binary.LittleEndian.PutUint32(w[checksumAt:], containerV1.sum(d.Checksum.form(), w))
	e.buf = w
	return w
}

// appendTensor appends a tensor record, a field a statement.
func appendTensor(w *wire.Buffer, t *tensor.Info, offset int64) {
	w.U8(uint8(slices.Index(dtypesV1[:], t.DType)))
	w.U8(uint8(len(t.Shape)))      // rank
	w.U16(0)                       // aux
	w.I64(t.Size / t.DType.Size()) // numel
	w.I64(offset)
	w.I64s(t.Shape)
	w.U32(uint32(len(t.Name))) // key_length
	w.Str(t.Name)              // key
}

// appendEntry appends a metadata record, a field a statement.
func appendEntry(w *wire.Buffer, kind uint32, payload uint64, key string) {
	w.U32(kind) // aux
	w.U64(payload)
	w.U32(uint32(len(key))) // key_length
	w.Str(key)
}

// hasDigest reports whether the metadata key of a tensor's digest, digestPrefix+name,
// fits the format.
func hasDigest(name string) bool { return len(digestPrefix)+len(name) <= maxKey }
