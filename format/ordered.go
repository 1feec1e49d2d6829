package format

import (
	"fmt"
	"io"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/target"
)

// orderedEncoder is an encoder that needs tensors in an order. It stores those that arrive early.
type orderedEncoder struct {
	driver.Encoder
	o     *WriteOptions
	where Spool
	order []int // the tensors to write, the next one first
	early map[int]*target.Input
	spool driver.Target // of the early ones; nil if there were none
	end   int64         // size of spool
	clear func()        // removes spool
}

// Tensor implements driver.Encoder. It encodes a tensor whose turn it is, then the stored ones that
// follow it.
func (q *orderedEncoder) Tensor(i int, in driver.Input) error {
	if i != q.order[0] {
		return q.store(i, in)
	}
	err := q.Encoder.Tensor(i, in)
	for q.order = q.order[1:]; err == nil && len(q.order) > 0; q.order = q.order[1:] {
		i := q.order[0]
		stored := q.early[i]
		if stored == nil {
			break
		}
		delete(q.early, i)
		if err = q.Encoder.Tensor(i, stored); err == nil {
			err = stored.Finish()
		}
	}
	return err
}

// store keeps a tensor until its turn.
func (q *orderedEncoder) store(i int, in driver.Input) (err error) {
	if q.where == SpoolNever {
		return fmt.Errorf("%w, and nothing may be spooled: tensors must come in the order of the file", driver.ErrSequential)
	}
	if q.spool == nil {
		if q.spool, q.clear, err = newSpool(q.where); err != nil {
			return err
		}
		q.early = make(map[int]*target.Input)
	}
	q.early[i] = target.NewInput(q.o.Context, io.NewSectionReader(q.spool, q.end, in.Size()), in.Size())
	off := q.end
	q.end += in.Size()
	return in.CopyTo(q.spool, off, nil)
}

// Close implements io.Closer. It removes the stored tensors.
func (q *orderedEncoder) Close() error {
	if q.spool != nil {
		q.clear()
	}
	return closeEncoder(q.Encoder)
}

// closeEncoder releases what an encoder holds besides the target.
func closeEncoder(e driver.Encoder) error {
	if c, ok := e.(io.Closer); ok {
		return c.Close()
	}
	return nil
}

// numbers returns the numbers below n.
func numbers(n int) []int {
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	return order
}
