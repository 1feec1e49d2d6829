package mag

import (
	"slices"
	"strings"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/wire"
	"github.com/weightmap/weightmap/tensor"
)

// layoutSnapshot returns the layout of a snapshot container. It sorts the tensors
// by the size of their elements, largest first.
func layoutSnapshot(p *driver.Plan, common *driver.WriteOptions) (*driver.Layout, error) {
	if err := checkSnapshotPlan(p, common); err != nil {
		return nil, err
	}
	order := make([]int, len(p.Tensors))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return int(p.Tensors[b].DType.Size() - p.Tensors[a].DType.Size())
	})
	pool, base, err := poolOf(p, order)
	if err != nil {
		return nil, err
	}
	l := &driver.Layout{Size: base, Offsets: make([]int64, len(order))}
	for _, i := range order {
		l.Offsets[i] = l.Size
		l.Size += p.Tensors[i].Size
	}
	l.Parts = []driver.Part{{Bytes: appendSnapshot(p, order, pool, l.Offsets, base, uint64(driver.CreationTime(common)))}}
	return l, nil
}

// checkSnapshotPlan refuses times and tensors that the container cannot hold.
func checkSnapshotPlan(p *driver.Plan, common *driver.WriteOptions) error {
	if driver.CreationTime(common) < 0 {
		return refuse("timestamp", format.ErrUnsupported, "%v is before 1970", common.Time)
	}
	if len(p.Tensors) > snapMaxStrings {
		return refuse("tensors", format.ErrLimit, "%d tensors, the string pool has room for %d", len(p.Tensors), snapMaxStrings)
	}
	return nil
}

// poolOf returns the strings of the pool, which are the names in the order of the
// file and perhaps a padding string, and the resulting offset of the data.
func poolOf(p *driver.Plan, order []int) (pool []string, base int64, err error) {
	pool = make([]string, len(order), len(order)+1)
	names, blob := make(map[string]bool, len(order)), int64(0)
	base = snapSmallest
	for k, i := range order {
		t := &p.Tensors[i]
		pool[k], names[t.Name] = t.Name, true
		blob += int64(len(t.Name))
		base += 4 + int64(len(t.Name)) + snapDescriptor + 8*int64(len(t.Shape))
	}
	if blob > snapMaxBlob {
		return nil, 0, refuse("tensors", format.ErrLimit, "%d bytes of names, the string pool has room for %d", blob, snapMaxBlob)
	}
	if base%dataAlign == 0 || len(pool) == 0 || len(pool) == snapMaxStrings {
		return pool, base, nil
	}
	for n := dataAlign - (base+4)%dataAlign; blob+n <= snapMaxBlob; n += dataAlign {
		if s := strings.Repeat("-", int(n)); !names[s] {
			return append(pool, s), base + 4 + n, nil
		}
	}
	return pool, base, nil
}

// appendSnapshot returns everything before the data, which begins at base.
func appendSnapshot(p *driver.Plan, order []int, pool []string, offsets []int64, base int64, stamp uint64) []byte {
	var w wire.Buffer
	w.Grow(int(base))
	w.Str(magic)
	w.U32(wordSnapshot)
	w.U64(stamp)
	w.U32(0) // checksum, filled in below
	w.U32(0) // aux
	w.U32(0) // metadata_map_len
	w.U32(uint32(len(order)))
	w.Str(markerPool)
	w.U32(uint32(len(pool)))
	w.U32(0)
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
		t := &p.Tensors[i]
		w.U8(uint8(len(t.Shape)))
		w.U8(codeOf(dtypesSnapshot[:], t.DType))
		w.U16(0) // aux0, aux1
		w.U32(uint32(id))
		w.I64(t.Size / t.DType.Size())
		w.I64(offsets[i] - base)
		for _, d := range t.Shape {
			w.I64(d)
		}
	}
	w.Put32(snapChecksumAt, tensor.UpdateCRC32C(0, w.Bytes()[snapSummedFrom:]))
	w.Str(markerBuffer)
	return w.Bytes()
}
