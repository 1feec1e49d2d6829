package save

import (
	"fmt"
	"io"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/format/plan"
)

// queue stores tensors that arrive out of order.
type queue struct {
	where plan.Spool
	order []int // the tensors to write, the next one first
	early map[int]io.Reader
	spool output
	end   int64 // size of spool
}

// turn returns the tensor to write next, -1 after the last.
func (q *queue) turn() int {
	if len(q.order) == 0 {
		return -1
	}
	return q.order[0]
}

// keep stores a tensor until its turn.
func (q *queue) keep(i int, in *Input) (err error) {
	if q.where == plan.SpoolNever {
		return fmt.Errorf("%w, and nothing may be spooled: tensors must come in the order of the file", driver.ErrSequential)
	}
	if q.spool == nil {
		if q.spool, err = newSpool(q.where); err != nil {
			return err
		}
		q.early = make(map[int]io.Reader)
	}
	off := q.end
	q.end += in.Size()
	q.early[i] = io.NewSectionReader(q.spool, off, in.Size())
	return in.CopyTo(q.spool, off, nil)
}

// next marks a tensor as written and returns the tensor that follows, with its data if it arrived
// earlier.
func (q *queue) next() (i int, r io.Reader) {
	q.order = q.order[1:]
	i = q.turn()
	r = q.early[i]
	delete(q.early, i)
	return i, r
}

// remove deletes the stored tensors.
func (q *queue) remove() {
	if q != nil && q.spool != nil {
		q.spool.Abort()
		q.spool = nil
	}
}
