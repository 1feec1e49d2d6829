package save

import (
	"fmt"
	"io"

	"github.com/weightmap/weightmap/format/driver"
)

// queue keeps tensors that come before their turn.
type queue struct {
	spool SpoolMode
	order []int // nil for that of the plan
	at    int   // in order, of the next tensor
	early map[int]io.Reader
	file  *Spool
	end   int64
}

// turn returns the tensor whose turn it is.
func (q *queue) turn() int {
	switch {
	case q.order == nil:
		return q.at
	case q.at < len(q.order):
		return q.order[q.at]
	}
	return -1
}

// isNext reports whether tensor i can be written now, and counts it then.
func (q *queue) isNext(i int) bool {
	if q.turn() != i {
		return false
	}
	q.at++
	return true
}

// keep stores a tensor until its turn comes.
func (q *queue) keep(i int, in *Input) error {
	if q.spool == SpoolNever {
		return fmt.Errorf("%w, and nothing may be spooled: tensors must come in the order of the file", driver.ErrSequential)
	}
	if q.early == nil {
		q.early = make(map[int]io.Reader)
	}
	if q.spool == SpoolMemory {
		m := &Memory{}
		q.early[i] = io.NewSectionReader(m, 0, in.Size())
		return in.CopyTo(m, 0, nil)
	}
	if q.file == nil {
		f, err := NewSpool()
		if err != nil {
			return err
		}
		q.file = f
	}
	off := q.end
	q.end += in.Size()
	q.early[i] = io.NewSectionReader(q.file, off, in.Size())
	return in.CopyTo(q.file, off, nil)
}

// next returns the tensor whose turn it is if it came before, else no reader.
func (q *queue) next() (i int, r io.Reader) {
	i = q.turn()
	r, ok := q.early[i]
	if !ok {
		return i, nil
	}
	q.at++
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
