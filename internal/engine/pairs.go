package engine

import (
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/vector"
	"github.com/weightmap/weightmap/internal/work"
)

// leastTogether is how large tensors are whose sums are computed two at a time.
const leastTogether = 16 << 10

// prepared are the sums of some tensors of a group, two of which were computed at a time.
type prepared struct {
	which []int // positions in the group, ascending
	parts [][]byte
	sums  []uint64
}

// together computes the sums of those tensors of a group that have an XXH64 and are in memory.
// It answers nothing where computing two at a time is no faster, where there are
// not two, and when it meets missing bytes: then checking one after
// the other finds the first thing that is wrong.
func (v *verification) together(which []int) (*prepared, error) {
	if !vector.PairsXXH64() || len(which) < 2 {
		return nil, nil
	}
	s := new(prepared)
	for n, i := range which {
		if v.m.index.Loaded(i) || v.m.index.Size(i) < leastTogether || v.sum(i).Kind != driver.XXH64 {
			continue
		}
		space, off, size := v.m.index.Place(i)
		r, err := v.m.spaces.home(space, i, v.m.index.Name(i), off, size)
		if err != nil || !r.InMemory() {
			continue
		}
		if b, err := r.Slice(off, size); err == nil {
			s.which, s.parts = append(s.which, n), append(s.parts, b)
			v.used(r, off, size) // soon
		}
	}
	if len(s.which) < 2 {
		return nil, nil
	}
	s.sums = make([]uint64, len(s.which))
	err := v.m.guard(func() error {
		return vector.XXH64Each(s.sums, s.parts, func(int, int) error { return v.ctx.Err() })
	})
	if err != nil {
		return nil, v.ctx.Err()
	}
	return s, nil
}

// next returns the sum of the tensor at position n of the group, which are asked for in
// order, and counts its bytes as done.
func (s *prepared) next(n int, v *verification, name string) (sum uint64, ok bool) {
	if s == nil || len(s.which) == 0 || s.which[0] != n {
		return 0, false
	}
	for left := len(s.parts[0]); left > 0; left -= work.Step {
		v.Done(int64(min(left, work.Step)), name)
	}
	sum = s.sums[0]
	s.which, s.parts, s.sums = s.which[1:], s.parts[1:], s.sums[1:]
	return sum, true
}
