package mag

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/wire"
	"github.com/weightmap/weightmap/tensor"
)

// snapshotEncoder writes a snapshot container. All that precedes the data is
// known from the plan, so it is written first.
type snapshotEncoder struct {
	t       driver.Target
	offsets []int64 // of each tensor of the plan
}

func newSnapshotEncoder(t driver.Target, p *driver.Plan, common *driver.WriteOptions, o *WriteOptions) (driver.Encoder, error) {
	if err := checkSnapshotPlan(p, common, o); err != nil {
		return nil, err
	}
	order := make([]int, len(p.Tensors))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return int(p.Tensors[b].DType.Size() - p.Tensors[a].DType.Size())
	})
	if t.Sequential() && !isBySize(p) {
		return nil, fmt.Errorf("%w: tensors are ordered by the size of their elements: sort the plan so, largest first, or let the file be spooled", format.ErrUnsupported)
	}
	pool, size, err := poolOf(p, order)
	if err != nil {
		return nil, err
	}
	e := &snapshotEncoder{t: t, offsets: make([]int64, len(order))}
	at := size
	for _, i := range order {
		e.offsets[i] = at
		if at += p.Tensors[i].Size; at < 0 {
			return nil, refuse("tensors", format.ErrLimit, "the file would exceed 2^63 bytes")
		}
	}
	head := appendSnapshot(p, order, pool, e.offsets, size, uint64(common.Created()))
	if _, err = t.WriteAt(head, 0); err != nil {
		return nil, err
	}
	return e, nil
}

// isBySize reports whether a plan lists its tensors in the order of the file.
func isBySize(p *driver.Plan) bool {
	return slices.IsSortedFunc(p.Tensors, func(a, b tensor.Info) int { return int(b.DType.Size() - a.DType.Size()) })
}

// checkSnapshotPlan refuses what the container cannot hold.
func checkSnapshotPlan(p *driver.Plan, common *driver.WriteOptions, o *WriteOptions) error {
	if o.Checksum != CRC32C {
		return refuse("checksum", format.ErrUnsupported, "snapshots have CRC-32C, not %v", o.Checksum)
	}
	if common.Created() < 0 {
		return refuse("timestamp", format.ErrUnsupported, "%v is before 1970", common.Time)
	}
	if len(p.Tensors) > snapMaxStrings {
		return refuse("tensors", format.ErrLimit, "%d tensors, the string pool has room for %d", len(p.Tensors), snapMaxStrings)
	}
	return nil
}

// poolOf returns the strings of the pool, the names in the order of the file and
// perhaps padding, and the offset at which the data then begin.
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

// appendSnapshot returns everything before the data, which begin at base.
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
		code, _ := codeOf(dtypesSnapshot[:], t.DType)
		w.U8(uint8(len(t.Shape)))
		w.U8(code)
		w.U16(0) // aux0, aux1
		w.U32(uint32(id))
		w.I64(t.Size / t.DType.Size())
		w.I64(offsets[i] - base)
		for _, d := range t.Shape {
			w.I64(d)
		}
	}
	w.Put32(snapChecksumAt, tensor.CRC32C(w.Bytes()[snapSummedFrom:]))
	w.Str(markerBuffer)
	return w.Bytes()
}

// Tensor implements driver.Encoder.
func (e *snapshotEncoder) Tensor(i int, in driver.Input) error {
	return explain(in.CopyTo(e.t, e.offsets[i], nil))
}

// Finish implements driver.Encoder: everything is written by then.
func (e *snapshotEncoder) Finish() error { return nil }

// explain says what to do about a target that cannot go back.
func explain(err error) error {
	if errors.Is(err, driver.ErrSequential) {
		return fmt.Errorf("%w; without spooling, tensors must come in the order of the file", err)
	}
	return err
}
