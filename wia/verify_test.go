package wia

import (
	"fmt"
	"testing"

	"github.com/weightmap/weightmap/internal/testhost"
)

// rich is a file of n tensors of all kinds: quantized, per channel, compressed,
// external, declared.
func rich(n int) []byte {
	var c container
	for i := range n {
		name := fmt.Sprintf("tensor.%06d", i)
		switch i % 4 {
		case 0:
			c.tensor = append(c.tensor, by(1, inline(name, 7, []byte{1, 2}, 2), by(6, by(3, vi(1, 1), fl(2, 1))))...)
		case 1:
			c.tensor = append(c.tensor, by(1, inline(name, 7, []byte{1, 2}, 2), by(6, by(3, vi(1, 1), by(5, by(1, floats(1, 2)), by(2, []byte{1, 2})))))...)
		case 2:
			c.tensor = append(c.tensor, by(2, by(1, decl(name, 7, 2)), by(3, []byte{1, 2}), vi(4, 2))...)
		case 3:
			c.tensor = append(c.tensor, elsewhereRecord(name, "some/where", 7, 2, checksumText(nil))...)
			name = ""
		}
		if name != "" {
			c.graph = append(c.graph, by(5, decl(name, 7, 2))...)
		}
	}
	return c.bytes()
}

// TestOpenAllocations: whatever the tensors are, opening allocates a fixed
// number of times.
func TestOpenAllocations(t *testing.T) {
	count := func(n int) float64 {
		b := rich(n)
		return testing.AllocsPerRun(10, func() {
			f, err := OpenBytes(b, nil)
			if err != nil {
				t.Fatal(err)
			}
			f.Close()
		})
	}
	if testhost.Race {
		t.Skip("under the race detector a sync.Pool drops what it is given")
	}
	few, more := count(8), count(2000)
	if few > 56 || more > few+5*8 { // five lists double
		t.Errorf("%v allocations for 8 tensors, %v for 2000", few, more)
	}
}
