package mag

import (
	"bytes"
	"fmt"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/wire"
)

// layoutV1 returns the layout of version 1: header and records, then the tensors,
// each at a multiple of 64. Since the records hold the digests, they are written
// last, unless there are none.
func layoutV1(p *driver.Plan, o *WriteOptions) (*driver.Layout, error) {
	head, err := sizeV1(p, o)
	if err != nil {
		return nil, err
	}
	l := &driver.Layout{Size: head, Offsets: make([]int64, len(p.Tensors)), Sums: driver.XXH64}
	early := o.NoDigests || len(p.Tensors) == 0
	if early {
		l.Parts = append(l.Parts, driver.Part{})
	}
	pad := func() {
		if n := -l.Size & (dataAlign - 1); n > 0 {
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
	if early {
		l.Parts[0].Bytes = headV1(p, o, head, l.Offsets, nil)
		return l, nil
	}
	l.Late = func(sums []uint64) ([]driver.Part, error) {
		return []driver.Part{{Bytes: headV1(p, o, head, l.Offsets, sums)}}, nil
	}
	return l, nil
}

var gap = bytes.Repeat([]byte{gapByte}, dataAlign)

// sizeV1 checks the plan and returns the size of header and records in bytes.
func sizeV1(p *driver.Plan, o *WriteOptions) (int64, error) {
	if o.Checksum > CRC32 {
		return 0, refuse("checksum", format.ErrUnsupported, "no form %d", o.Checksum)
	}
	size := int64(headerSize)
	for i := range p.Tensors {
		t := &p.Tensors[i]
		if len(t.Name) > maxKey {
			return 0, refuse(fmt.Sprintf("tensor %q", t.Name), format.ErrLimit, "the name has %d bytes, at most %d are possible", len(t.Name), maxKey)
		}
		size += tensorHead + 8*int64(len(t.Shape)) + 4 + int64(len(t.Name))
		if hasDigest(t.Name) && !o.NoDigests {
			size += metadataHead + int64(len(digestPrefix)+len(t.Name))
		}
	}
	for _, m := range p.Metadata {
		size += metadataHead + int64(len(m.Key))
	}
	return size, nil
}

// headV1 returns header and records, which have size bytes.
func headV1(p *driver.Plan, o *WriteOptions, size int64, offsets []int64, sums []uint64) []byte {
	var w wire.Buffer
	w.Grow(int(size))
	w.Str(magic)
	w.U32(wordV1)
	w.U32(0) // checksum, filled in below
	w.U32(uint32(len(p.Tensors)))
	w.U32(0) // num_meta_kv, filled in below
	w.U32(0) // aux
	entries := uint32(len(p.Metadata))
	for _, m := range p.Metadata {
		kind, bits, _ := payload(m.Value)
		appendEntry(&w, kind, bits, "", m.Key)
	}
	for i := range p.Tensors {
		if name := p.Tensors[i].Name; hasDigest(name) && !o.NoDigests {
			appendEntry(&w, metadataInt64, sums[i], digestPrefix, name)
			entries++
		}
	}
	w.Put32(metadataCountAt, entries)
	for i := range p.Tensors {
		t := &p.Tensors[i]
		w.U8(codeOf(dtypesV1[:], t.DType))
		w.U8(uint8(len(t.Shape)))
		w.U16(0)
		w.I64(t.Size / t.DType.Size())
		w.I64(offsets[i])
		for _, d := range t.Shape {
			w.I64(d)
		}
		w.U32(uint32(len(t.Name)))
		w.Str(t.Name)
	}
	w.Put32(checksumOffset, sumForms[o.Checksum].compute(w.Bytes()))
	return w.Bytes()
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
