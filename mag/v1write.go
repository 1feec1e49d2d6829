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
	b := make(wire.Buffer, 0, headerSize+4*typicalRecord*(len(p.Metadata)+len(p.Tensors)))
	head := func(sums []uint64) []driver.Part {
		b = headV1(b[:0], p, d, l.Offsets, sums)
		return []driver.Part{{Bytes: b}}
	}
	unknown := make([]uint64, len(p.Tensors))
	l.Size = int64(len(head(unknown)[0].Bytes))
	pad := func() {
		n := -l.Size & (dataAlign - 1)
		if n > 0 {
			l.Parts = append(l.Parts, driver.Part{Offset: l.Size, Bytes: gap[:n]})
			l.Size += n
		}
	}
	for i := range p.Tensors {
		pad()
		l.Offsets[i] = l.Size
		l.Size += p.Tensors[i].Size
	}
	if len(p.Tensors) > 0 {
		pad()
	}
	if d.NoDigests || len(p.Tensors) == 0 {
		l.Parts = append(head(unknown), l.Parts...)
	} else {
		l.Late = func(sums []uint64) ([]driver.Part, error) { return head(sums), nil }
	}
	return l, nil
}

var gap = bytes.Repeat([]byte{gapByte}, dataAlign)

// headV1 appends header and records.
func headV1(w wire.Buffer, p *schema.Schema, d fileFormat, offsets []int64, sums []uint64) []byte {
	w.Str(magic)
	w.U32(wordV1)
	checksumAt := len(w)
	w.U32(0) // checksum, filled in below
	w.U32(uint32(len(p.Tensors)))
	entriesAt := len(w)
	w.U32(0) // num_meta_kv, filled in below
	w.U32(0) // aux
	entries := uint32(len(p.Metadata))
	for _, m := range p.Metadata {
		kind, bits, _ := payload(m.Value)
		appendEntry(&w, kind, bits, "", m.Key)
	}
	for i := range p.Tensors {
		name := p.Tensors[i].Name
		if hasDigest(name) && !d.NoDigests {
			appendEntry(&w, metadataInt64, sums[i], digestPrefix, name)
			entries++
		}
	}
	binary.LittleEndian.PutUint32(w[entriesAt:], entries)
	for i := range p.Tensors {
		appendTensor(&w, &p.Tensors[i], offsets[i])
	}
	binary.LittleEndian.PutUint32(w[checksumAt:], containerV1.sum(d.Checksum.form(), w))
	return w
}

// appendTensor appends a tensor record.
func appendTensor(w *wire.Buffer, t *tensor.Info, offset int64) {
	w.U8(uint8(slices.Index(dtypesV1[:], t.DType)))
	w.U8(uint8(len(t.Shape)))
	w.U16(0) // aux
	w.I64(t.Size / t.DType.Size())
	w.I64(offset)
	w.I64s(t.Shape)
	w.U32(uint32(len(t.Name)))
	w.Str(t.Name)
}

// appendEntry appends a metadata entry with the key prefix+key.
func appendEntry(w *wire.Buffer, kind uint32, payload uint64, prefix, key string) {
	w.U32(kind)
	w.U64(payload)
	w.U32(uint32(len(prefix) + len(key)))
	w.Str(prefix)
	w.Str(key)
}

// hasDigest reports whether the metadata key of a tensor's digest, digestPrefix+name,
// fits the format.
func hasDigest(name string) bool { return len(digestPrefix)+len(name) <= maxKey }
