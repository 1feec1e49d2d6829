package format

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/tensor"
)

// touch verifies checksums before the first use of the bytes they cover.
type touch struct {
	m       *Model
	pending atomic.Bool // some tensors are not verified yet
	left    atomic.Int64
	once    sync.Once
	seen    []touched // by tensor; allocated on first use
}

// touched is the state of a tensor.
type touched struct {
	good atomic.Bool
	mu   sync.Mutex
	err  error // a lasting error
}

// init enables checks if they are wanted and there is anything to check.
func (t *touch) init(m *Model, wanted bool) {
	t.m = m
	t.left.Store(int64(m.index.Len()))
	t.pending.Store(wanted && m.index.Len() > 0 && (m.parsed.TensorSum != nil || m.parsed.SumsOf != nil))
}

// of returns the state of tensor i.
func (t *touch) of(i int) *touched {
	t.once.Do(func() { t.seen = make([]touched, t.m.index.Len()) })
	return &t.seen[i]
}

// check verifies the named tensor, once. It is called between Enter and Leave.
func (t *touch) check(name string) error {
	i, _ := t.m.index.Lookup(name)
	s := t.of(i)
	if s.good.Load() {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil || s.good.Load() {
		return s.err
	}
	err := t.m.explain(t.m.guard(func() error { return t.run(i) }))
	if err == nil {
		t.passed(i)
	} else if isLasting(err) {
		s.err = err
	}
	return err
}

// passed marks a tensor as verified.
func (t *touch) passed(i int) {
	if !t.of(i).good.Swap(true) && t.left.Add(-1) == 0 {
		t.pending.Store(false)
	}
}

// hashes reports whether check would do nothing but hash the bytes of tensor i.
func (t *touch) hashes(i int) bool {
	if !t.pending.Load() || t.m.parsed.TensorSum == nil || t.m.index.Loaded(i) || t.of(i).good.Load() {
		return false
	}
	return t.m.parsed.TensorSum(i).Kind != driver.NoSum
}

// run verifies the checksums that cover tensor i.
func (t *touch) run(i int) error {
	v := newVerification(t.m, context.Background(), &VerifyOptions{})
	v.pass.IsUse = true
	if t.m.parsed.SumsOf == nil || v.tensorSum(i).Kind != driver.NoSum {
		return v.verifyJob([]int{i}, t.m.extent(i))
	}
	return t.m.touchSums(v, i)
}

// isLasting reports whether an error would recur. A failed read may succeed the next
// time.
func isLasting(err error) bool {
	return errors.Is(err, tensor.ErrCorrupt) || errors.Is(err, tensor.ErrChecksum) ||
		errors.Is(err, tensor.ErrKey) || errors.Is(err, tensor.ErrSignature)
}
