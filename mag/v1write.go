package mag

import (
	"bytes"
	"fmt"
	"math"

	"github.com/cespare/xxhash/v2"
	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/wire"
)

// encoder writes version 1. Header and records come last, since they hold the
// digests and the offsets of the data; on a sequential target, where neither may
// depend on the data, they come first.
type encoder struct {
	t       driver.Target
	plan    *driver.Plan
	common  *driver.WriteOptions
	opts    *WriteOptions
	head    int64   // bytes of header and records
	end     int64   // of all that was written
	planned []int64 // where each tensor goes if no data is shared
	offsets []int64 // where each is
	sums    []uint64
	hash    *xxhash.Digest // nil when nothing needs sums
	shares  *sharing       // nil when no data is shared
}

func newEncoder(t driver.Target, p *driver.Plan, common *driver.WriteOptions, o *WriteOptions) (driver.Encoder, error) {
	head, err := sizeV1(p, o)
	if err != nil {
		return nil, err
	}
	n := len(p.Tensors)
	e := &encoder{t: t, plan: p, common: common, opts: o, head: head, planned: make([]int64, n), offsets: make([]int64, n), sums: make([]uint64, n)}
	at, ok := wire.AlignUp(head, dataAlign)
	for i := range p.Tensors {
		e.planned[i] = at
		if at += p.Tensors[i].Size; at >= 0 && ok {
			at, ok = wire.AlignUp(at, dataAlign)
		}
		if at < 0 || !ok {
			return nil, refuse("tensors", format.ErrLimit, "the file would exceed 2^63 bytes")
		}
	}
	if t.Sequential() && n > 0 {
		if err := e.begin(); err != nil {
			return nil, err
		}
		return e, nil
	}
	if !o.NoDigests || !o.NoSharing {
		e.hash = xxhash.New()
	}
	if !o.NoSharing && n > 0 {
		e.shares = newSharing(n, e.planned[0])
	}
	return e, nil
}

// begin writes header and records ahead of the data.
func (e *encoder) begin() error {
	if !e.opts.NoDigests || !e.opts.NoSharing {
		return fmt.Errorf("%w: header and records depend on the data: set NoDigests and NoSharing, or let the file be spooled", format.ErrUnsupported)
	}
	copy(e.offsets, e.planned)
	if err := e.writeHead(); err != nil {
		return err
	}
	return e.pad(e.head)
}

// Tensor implements driver.Encoder.
func (e *encoder) Tensor(i int, in driver.Input) error {
	at := e.planned[i]
	if e.shares != nil {
		at = e.shares.offset(i, at)
	}
	var err error
	if e.hash == nil {
		err = in.CopyTo(e.t, at, nil)
	} else {
		e.hash.Reset()
		err = in.CopyTo(e.t, at, e.hash)
		e.sums[i] = e.hash.Sum64()
	}
	if err != nil {
		return explain(err)
	}
	e.offsets[i] = at
	if err := e.pad(at + in.Size()); err != nil || e.shares == nil {
		return explain(err)
	}
	return e.share(i)
}

// Finish implements driver.Encoder.
func (e *encoder) Finish() error {
	if e.t.Sequential() && len(e.offsets) > 0 {
		return nil
	}
	if e.shares != nil {
		if err := e.compact(); err != nil {
			return err
		}
	}
	if err := e.writeHead(); err != nil {
		return err
	}
	if len(e.offsets) == 0 {
		return nil
	}
	return e.pad(e.head)
}

// pad fills the gap from off to the next multiple of 64.
func (e *encoder) pad(off int64) error {
	n := int(-off & (dataAlign - 1))
	e.end = max(e.end, off+int64(n))
	if n == 0 {
		return nil
	}
	_, err := e.t.WriteAt(gap[:n], off)
	return err
}

var gap = bytes.Repeat([]byte{gapByte}, dataAlign)

// sizeV1 checks the plan and returns the number of bytes of header and records.
func sizeV1(p *driver.Plan, o *WriteOptions) (int64, error) {
	if o.Checksum > CRC32 {
		return 0, refuse("checksum", format.ErrUnsupported, "%v", o.Checksum)
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
	if len(p.Tensors) > math.MaxInt32 || len(p.Metadata) > math.MaxInt32 {
		return 0, refuse("tensors", format.ErrLimit, "more than 2^31 tensors or metadata entries")
	}
	for _, m := range p.Metadata {
		size += metadataHead + int64(len(m.Key))
	}
	if size != int64(int(size)) {
		return 0, refuse("tensors", format.ErrLimit, "header and records would take %d bytes", size)
	}
	return size, nil
}

// writeHead writes header and records once all offsets and sums are known.
func (e *encoder) writeHead() error {
	var w wire.Buffer
	w.Grow(int(e.head))
	w.Str(magic)
	w.U32(wordV1)
	w.U32(0) // checksum, filled in below
	w.U32(uint32(len(e.plan.Tensors)))
	w.U32(0) // num_meta_kv, filled in below
	w.U32(0) // aux
	w.Put32(metadataCountAt, e.appendMetadata(&w))
	for i := range e.plan.Tensors {
		t := &e.plan.Tensors[i]
		code, _ := codeOf(dtypesV1[:], t.DType)
		w.U8(code)
		w.U8(uint8(len(t.Shape)))
		w.U16(0)
		w.I64(t.Size / t.DType.Size())
		w.I64(e.offsets[i])
		for _, d := range t.Shape {
			w.I64(d)
		}
		w.U32(uint32(len(t.Name)))
		w.Str(t.Name)
	}
	form := sumReference
	if e.opts.Checksum == CRC32 {
		form = sumIEEEWhole
	}
	w.Put32(checksumOffset, form.compute(w.Bytes()))
	_, err := e.t.WriteAt(w.Bytes(), 0)
	return err
}

// appendMetadata appends the caller's entries, then the digests in the order
// of the tensors, and returns how many there are.
func (e *encoder) appendMetadata(w *wire.Buffer) (n uint32) {
	for _, m := range e.plan.Metadata {
		kind, bits, _ := payload(m.Value)
		appendEntry(w, kind, bits, "", m.Key)
		n++
	}
	for i := range e.plan.Tensors {
		if name := e.plan.Tensors[i].Name; hasDigest(name) && !e.opts.NoDigests {
			appendEntry(w, metadataInt64, e.sums[i], digestPrefix, name)
			n++
		}
	}
	return n
}

// appendEntry appends an entry whose key is in two parts.
func appendEntry(w *wire.Buffer, kind uint32, payload uint64, prefix, key string) {
	w.U32(kind)
	w.U64(payload)
	w.U32(uint32(len(prefix) + len(key)))
	w.Str(prefix)
	w.Str(key)
}
