package engine

import (
	"hash/maphash"
	"math/bits"

	"github.com/weightmap/weightmap/tensor"
)

// names finds the tensors of a plan by name. Making it takes a third of the time that a
// map takes, which is as long as writing many small tensors.
type names struct {
	of    []tensor.Info
	slots []int32 // indices, and -1; 2^31 tensors would take 300 GB to describe
}

var nameSeed = maphash.MakeSeed()

// newNames makes room for as many names as there are tensors.
func newNames(of []tensor.Info) *names {
	x := &names{of: of, slots: make([]int32, 1<<bits.Len(uint(2*len(of))))}
	for i := range x.slots {
		x.slots[i] = -1
	}
	return x
}

// slot returns where a name is, or where there is room for it.
func (x *names) slot(name string) *int32 {
	mask := uint64(len(x.slots) - 1)
	for h := maphash.String(nameSeed, name); ; h++ {
		s := &x.slots[h&mask]
		if *s < 0 || x.of[*s].Name == name {
			return s
		}
	}
}

// add adds the name of tensor i. It reports false when another has that.
func (x *names) add(i int) bool {
	s := x.slot(x.of[i].Name)
	if *s >= 0 {
		return false
	}
	*s = int32(i)
	return true
}

// find returns the index of the tensor with a name.
func (x *names) find(name string) (i int, ok bool) {
	i = int(*x.slot(name))
	return i, i >= 0
}
