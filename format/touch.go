package format

import (
	"context"
	"errors"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/tensor"
)

// startTouch enables checks before the first use of tensors if they are wanted and there is
// anything to check.
func (m *Model) startTouch(wanted bool) {
	n := m.index.Len()
	m.touch.start(n, wanted && n > 0 && (m.parsed.TensorSum != nil || m.parsed.SumsOf != nil))
}

// checkTouch verifies the named tensor, once: touched remembers tensors, and sumState checksums that
// several share. It is called between Enter and Leave.
func (m *Model) checkTouch(name string) error {
	t := &m.touch
	i, _ := m.index.Lookup(name)
	s := t.of(i)
	if s.good.Load() {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil || s.good.Load() {
		return s.err
	}
	err := m.explain(m.guard(func() error { return m.runTouch(i) }))
	if err == nil {
		t.passed(i)
	} else if isLasting(err) {
		s.err = err
	}
	return err
}

// touchHashes reports whether checkTouch would do nothing but hash the bytes of tensor i.
func (m *Model) touchHashes(i int) bool {
	t := &m.touch
	if !t.pending.Load() || m.parsed.TensorSum == nil || m.index.Loaded(i) || t.of(i).good.Load() {
		return false
	}
	return m.parsed.TensorSum(i).Kind != driver.NoSum
}

// runTouch verifies the checksums that cover tensor i.
func (m *Model) runTouch(i int) error {
	v := newVerification(m, context.Background(), &VerifyOptions{})
	v.pass.IsUse = true
	if m.parsed.SumsOf == nil || v.tensorSum(i).Kind != driver.NoSum {
		return v.verifyJob([]int{i}, m.extent(i))
	}
	return m.touchSums(v, i)
}

// isLasting reports whether an error would recur. A failed read may succeed the next
// time.
func isLasting(err error) bool {
	return errors.Is(err, tensor.ErrCorrupt) || errors.Is(err, tensor.ErrChecksum) ||
		errors.Is(err, tensor.ErrKey) || errors.Is(err, tensor.ErrSignature)
}

// touchSums compares the declared checksums that cover tensor i, each once.
func (m *Model) touchSums(v *verification, i int) error {
	d := m.declared()
	from, to := m.sumsOf(i)
	for k := from; k < to; k++ {
		if err := m.touchSum(v, &d.list[k], &d.states[k]); err != nil {
			return err
		}
	}
	return nil
}

func (m *Model) touchSum(v *verification, s *driver.Sum, state *sumState) error {
	state.mu.Lock()
	defer state.mu.Unlock()
	if state.passed || state.err != nil {
		return state.err
	}
	if !isCompared(s) {
		return nil
	}
	err := v.compareTouched(s)
	state.passed = err == nil
	if isLasting(err) {
		state.err = err
	}
	return err
}

// compareTouched compares a sum before the first use of a tensor that it covers.
func (v *verification) compareTouched(s *driver.Sum) error {
	_, err := v.compareSum(v, s)
	if err != nil || !v.m.parsedIn(s) {
		return err
	}
	return v.unchanged() // the tensors must still be where Parse has found them
}
