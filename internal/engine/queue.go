package engine

import (
	"bytes"
	"fmt"
	"io"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/sink"
)

// queue keeps tensors that come too early for a target or driver that takes them in
// one order only. A nil queue lets all through.
type queue struct {
	spool Spool
	order []int // nil for that of the plan
	at    int   // in order, of the next tensor
	early map[int]spooled
	file  *sink.Spool
	end   int64
}

// spooled is where the data of a tensor waits.
type spooled struct {
	off, size int64
	mem       []byte
}

// setOrder says which tensor goes first, nil for that of the plan.
func (q *queue) setOrder(order []int) {
	if q != nil {
		q.order = order
	}
}

// tensor returns the tensor at a position of the order.
func (q *queue) tensor(at int) int {
	if q.order == nil {
		return at
	}
	if at >= len(q.order) {
		return -1
	}
	return q.order[at]
}

// isNext reports whether tensor i can be written now, and counts it then.
func (q *queue) isNext(i int) bool {
	if q == nil {
		return true
	}
	if q.tensor(q.at) == i {
		q.at++
		return true
	}
	return false
}

// keep stores a tensor until its turn comes.
func (q *queue) keep(i int, in *sink.Input) error {
	if q.spool == SpoolNever {
		return fmt.Errorf("%w, and nothing may be spooled: tensors must come in the order of the file", driver.ErrSequential)
	}
	if q.early == nil {
		q.early = make(map[int]spooled)
	}
	if q.spool == SpoolMemory {
		b, err := in.ReadAll()
		q.early[i] = spooled{mem: b}
		return err
	}
	if q.file == nil {
		f, err := sink.NewSpool()
		if err != nil {
			return err
		}
		q.file = f
	}
	s := spooled{off: q.end, size: in.Size()}
	q.end += s.size
	q.early[i] = s
	return in.CopyTo(q.file, s.off, nil)
}

// next returns the tensor whose turn it is if it came before, else -1.
func (q *queue) next() (i int, r io.Reader) {
	if q == nil {
		return -1, nil
	}
	i = q.tensor(q.at)
	s, ok := q.early[i]
	if !ok {
		return -1, nil
	}
	q.at++
	delete(q.early, i)
	if q.spool == SpoolMemory {
		return i, bytes.NewReader(s.mem)
	}
	return i, io.NewSectionReader(q.file, s.off, s.size)
}

// remove deletes the temporary file.
func (q *queue) remove() {
	if q != nil && q.file != nil {
		q.file.Remove()
		q.file = nil
	}
}
