package mag

import (
	"bytes"
	"math/bits"
	"math/rand/v2"
	"sync"

	"github.com/weightmap/weightmap/internal/wire"
)

// sharing finds tensors with equal data while they arrive in any order. Tensors
// with equal data form a class, known by the index of the one that came first
// and owned by the one that is first in the plan. Only owners' data ends up in the
// file, back to back in the order of the plan, so the file does not depend on the
// order of arrival.
//
// Tensors that come in the order of the plan are put where they belong at once:
// next is the first tensor that is not there yet, front the offset after those
// before it. The others go where they would be if nothing were shared, which is
// never before the end of what comes earlier in the plan, and compact moves them
// down in the end.
type sharing struct {
	slots  []int32 // in a table by sum and size: the latest class of these, plus 1
	factor uint64  // of the table's hash, odd
	older  []int   // by class: the class before it in its bucket, -1
	class  []int   // by tensor: its class, -1 before it came
	owner  []int   // by class
	next   int
	front  int64
}

func newSharing(n int, base int64) *sharing {
	s := &sharing{slots: make([]int32, 1<<bits.Len(uint(2*n))), factor: rand.Uint64() | 1,
		older: make([]int, n), class: make([]int, n), owner: make([]int, n), front: base}
	for i := range n {
		s.class[i] = -1
	}
	return s
}

// bucket returns where the table has the classes of tensors with the sum and the size of
// tensor i, or has room for them. Whoever makes tensors with sums to his liking does not
// know the factor, so they do not meet in one place. A map takes five times as long, as
// long as writing small tensors does.
func (e *encoder) bucket(i int) *int32 {
	s := e.shares
	mask := uint64(len(s.slots) - 1)
	for at := e.sums[i] * s.factor >> 32; ; at++ {
		slot := &s.slots[at&mask]
		c := *slot - 1
		if c < 0 || e.sums[c] == e.sums[i] && e.plan.Tensors[c].Size == e.plan.Tensors[i].Size {
			return slot
		}
	}
}

// offset returns where the data of tensor i goes as it arrives.
func (s *sharing) offset(i int, planned int64) int64 {
	if i == s.next {
		return s.front
	}
	return planned
}

// share finds the class of tensor i, whose data was just written.
func (e *encoder) share(i int) error {
	s, slot, size := e.shares, e.bucket(i), e.plan.Tensors[i].Size
	latest, class := int(*slot)-1, -1
	for c := latest; c >= 0 && class < 0; c = s.older[c] {
		same, err := e.equal(e.offsets[s.owner[c]], e.offsets[i], size)
		if err != nil {
			return err
		}
		if same {
			class = c
		}
	}
	if class < 0 {
		class = i
		s.owner[i], s.older[i] = i, latest
		*slot = int32(i) + 1
	}
	s.class[i] = class
	s.owner[class] = min(s.owner[class], i)
	e.advance()
	return nil
}

// advance passes the tensors that are where they belong, or share the data of
// an earlier one.
func (e *encoder) advance() {
	s := e.shares
	for ; s.next < len(s.class) && s.class[s.next] >= 0; s.next++ {
		if s.owner[s.class[s.next]] < s.next {
			continue
		}
		if e.offsets[s.next] != s.front {
			return
		}
		s.front, _ = wire.AlignUp(s.front+e.plan.Tensors[s.next].Size, dataAlign)
	}
}

// compact moves the data of owners down to where they belong, in ascending
// order so that nothing is overwritten before it was moved, and cuts off the rest.
func (e *encoder) compact() error {
	s, at := e.shares, e.planned[0]
	for i := range e.offsets {
		size := e.plan.Tensors[i].Size
		if owner := s.owner[s.class[i]]; owner < i {
			e.offsets[i] = e.offsets[owner]
			continue
		}
		if e.offsets[i] != at {
			if err := e.move(at, e.offsets[i], size); err != nil {
				return err
			}
			if err := e.pad(at + size); err != nil {
				return err
			}
			e.offsets[i] = at
		}
		at, _ = wire.AlignUp(at+size, dataAlign)
	}
	if e.end > at {
		return e.t.Truncate(at)
	}
	return nil
}

// piece is how much is read at a time when data is compared.
const piece = 256 << 10

var pieces = sync.Pool{New: func() any { b := make([]byte, 2*piece); return &b }}

// equal compares size bytes at two offsets of the file.
func (e *encoder) equal(a, b, size int64) (bool, error) {
	buf := pieces.Get().(*[]byte)
	defer pieces.Put(buf)
	for done := int64(0); done < size; {
		if err := e.common.Context.Err(); err != nil {
			return false, err
		}
		n := min(size-done, piece)
		x, y := (*buf)[:n], (*buf)[piece:piece+n]
		if err := e.read(x, a+done); err != nil {
			return false, err
		}
		if err := e.read(y, b+done); err != nil {
			return false, err
		}
		if !bytes.Equal(x, y) {
			return false, nil
		}
		done += n
	}
	return true, nil
}

// move copies size bytes down from one offset of the file to another; the two
// may overlap.
func (e *encoder) move(to, from, size int64) error {
	buf := pieces.Get().(*[]byte)
	defer pieces.Put(buf)
	for done := int64(0); done < size; {
		if err := e.common.Context.Err(); err != nil {
			return err
		}
		n := min(size-done, int64(len(*buf)))
		if err := e.read((*buf)[:n], from+done); err != nil {
			return err
		}
		if _, err := e.t.WriteAt((*buf)[:n], to+done); err != nil {
			return err
		}
		done += n
	}
	return nil
}

// read fills p from the target.
func (e *encoder) read(p []byte, off int64) error {
	n, err := e.t.ReadAt(p, off)
	if n == len(p) {
		return nil
	}
	return err
}
