package save

import (
	"fmt"
	"io"

	"github.com/weightmap/weightmap/format/driver"
)

// queue stores tensors that arrive out of order.
type queue struct {
	spool driver.Spool
	order []int // nil for the plan's order
	at    int   // position in order of the next tensor
	early map[int]io.Reader
	file  *Spool
	end   int64 // size of file
}

// turn returns the tensor to write next.
func (q *queue) turn() int {
	switch {
	case q.order == nil:
		return q.at
	case q.at < len(q.order):
		return q.order[q.at]
	}
	return -1
}

// keep stores a tensor until its turn.
func (q *queue) keep(i int, in *Input) error {
	var to spool = &Memory{}
	off := int64(0)
	switch q.spool {
	case driver.SpoolNever:
		return fmt.Errorf("%w, and nothing may be spooled: tensors must come in the order of the file", driver.ErrSequential)
	case driver.SpoolFile:
		if q.file == nil {
			f, err := NewSpool()
			if err != nil {
				return err
			}
			q.file = f
		}
		to, off = q.file, q.end
		q.end += in.Size()
	}
	if q.early == nil {
		q.early = make(map[int]io.Reader)
	}
	q.early[i] = io.NewSectionReader(to, off, in.Size())
	return in.CopyTo(to, off, nil)
}

// next marks a tensor as written and returns the tensor that follows, with its data if it arrived
// earlier.
func (q *queue) next() (i int, r io.Reader) {
	q.at++
	i = q.turn()
	r = q.early[i]
	delete(q.early, i)
	return i, r
}

// remove deletes the temporary file.
func (q *queue) remove() {
	if q != nil && q.file != nil {
		q.file.Remove()
		q.file = nil
	}
}
