package mag

import (
	"encoding/binary"
	"slices"
	"strings"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/wire"
	"github.com/weightmap/weightmap/tensor"
)

// layoutSnapshot returns the layout of a snapshot container. It sorts the tensors
// by the size of their elements, largest first.
func layoutSnapshot(p *schema.Schema, o *driver.LayoutOptions) (*driver.Layout, error) {
	if o.Created() < 0 {
		return nil, wire.Refuse(formatName, "timestamp", "%w: %v is before 1970", format.ErrUnsupported,
			o.Time)
	}
	if len(p.Tensors) > snapMaxStrings {
		return nil, wire.Refuse(formatName, "tensors", "%w: %d tensors, the string pool has room for %d",
			format.ErrLimit, len(p.Tensors), snapMaxStrings)
	}
	var order []int
	for _, size := range []int64{8, 4, 2, 1} {
		for i := range p.Tensors {
			if p.Tensors[i].DType.Size() == size {
				order = append(order, i)
			}
		}
	}
	l := &driver.Layout{Offsets: make([]int64, len(order))}
	pool := make([]string, len(order))
	poolSize := 0
	for id, i := range order {
		pool[id] = p.Tensors[i].Name
		poolSize += len(pool[id])
		l.Offsets[i] = l.Size
		l.Size += p.Tensors[i].Size
	}
	if poolSize > snapMaxBlob {
		return nil, wire.Refuse(formatName, "tensors",
			"%w: %d bytes of names, the string pool has room for %d",
			format.ErrLimit, poolSize, snapMaxBlob)
	}
	stamp := uint64(o.Created())
	head := snapshotHead(p, order, pool, l.Offsets, stamp)
	padding := paddingString(pool, poolSize, len(head))
	if padding != "" {
		head = snapshotHead(p, order, append(pool, padding), l.Offsets, stamp)
	}
	for i := range l.Offsets {
		l.Offsets[i] += int64(len(head))
	}
	l.Size += int64(len(head))
	l.Parts = []driver.Part{{Bytes: head}}
	return l, nil
}

// paddingString returns a string that aligns the data when it is added to the pool, or "" if there
// is none.
func paddingString(pool []string, poolSize, head int) string {
	if head%dataAlign == 0 || len(pool) == 0 || len(pool) == snapMaxStrings {
		return ""
	}
	for n := dataAlign - (head+4)%dataAlign; poolSize+n <= snapMaxBlob; n += dataAlign {
		s := strings.Repeat("-", n)
		if !slices.Contains(pool, s) {
			return s
		}
	}
	return ""
}

// snapshotHead returns everything before the data. Offsets are relative to its end.
func snapshotHead(p *schema.Schema, order []int, pool []string, offsets []int64,
	stamp uint64) []byte {
	var w wire.Buffer
	w.Str(magic)
	w.U32(wordSnapshot)
	w.U64(stamp)
	checksumAt := len(w)
	w.U32(0)                  // checksum, filled in below
	w.U32(0)                  // aux
	w.U32(0)                  // metadata_map_len
	w.U32(uint32(len(order))) // tensor_count
	w.Str(markerPool)
	w.U32(uint32(len(pool))) // count
	w.U32(0)                 // offsets: where the first string begins, then the end of each
	end := uint32(0)
	for _, s := range pool {
		end += uint32(len(s))
		w.U32(end)
	}
	for _, s := range pool {
		w.Str(s)
	}
	w.Str(markerMetadata)
	w.Str(markerDescriptors)
	for id, i := range order {
		appendDescriptor(&w, &p.Tensors[i], id, offsets[i])
	}
	w.Str(markerBuffer)
	binary.LittleEndian.PutUint32(w[checksumAt:], containerSnapshot.sum(CRC32C.form(), w))
	return w
}

// appendDescriptor appends a descriptor of the tensor whose name is string id of the pool.
func appendDescriptor(w *wire.Buffer, t *tensor.Info, id int, offset int64) {
	w.U8(uint8(len(t.Shape))) // rank
	w.U8(uint8(slices.Index(dtypesSnapshot[:], t.DType)))
	w.U8(0)                        // aux0
	w.U8(0)                        // aux1
	w.U32(uint32(id))              // key_id
	w.I64(t.Size / t.DType.Size()) // numel
	w.I64(offset)
	w.I64s(t.Shape)
}
