package format

import (
	"sync"
	"sync/atomic"
)

// touch says which tensors were compared with their checksums before their first use.
type touch struct {
	pending atomic.Bool // some tensors are not verified yet
	left    atomic.Int64
	count   int // of all tensors
	once    sync.Once
	seen    []touched // by tensor; allocated on first use
}

// touched is the state of a tensor.
type touched struct {
	good atomic.Bool
	mu   sync.Mutex
	err  error // a lasting error
}

// start sets the number of tensors, and whether they are to be compared.
func (t *touch) start(count int, isWanted bool) {
	t.count = count
	t.left.Store(int64(count))
	t.pending.Store(isWanted)
}

// of returns the state of tensor i.
func (t *touch) of(i int) *touched {
	t.once.Do(func() { t.seen = make([]touched, t.count) })
	return &t.seen[i]
}

// passed marks a tensor as verified.
func (t *touch) passed(i int) {
	if !t.of(i).good.Swap(true) && t.left.Add(-1) == 0 {
		t.pending.Store(false)
	}
}
