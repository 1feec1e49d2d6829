package torch

import (
	"strconv"
	"testing"

	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/internal/testhost"
)

// TestAllocations: opening 10,000 tensors takes few allocations, since values, storages and tensors are in few slices.
func TestAllocations(t *testing.T) {
	if !testhost.CountsAllocs() {
		t.Skip("allocations cannot be counted here")
	}
	const n = 10_000
	var items []string
	entries := []entryOf{{}}
	for i := range n {
		key := strconv.Itoa(i)
		items = append(items, str("layer."+key+".weight"), tensorOf(store("Float", key, 4), 0, nums(2, 2), nums(2, 1)))
		entries = append(entries, entryOf{"m/data/" + key, floats(4), false})
	}
	entries[0] = entryOf{"m/data.pkl", []byte(pickled(dictOf(items...))), false}
	file := archived(t, entries...)
	got := testing.AllocsPerRun(3, func() {
		m, err := openBytes(file, nil)
		expect.OK(t, err)
		expect.Equal(t, n, m.Len())
		m.Close()
	})
	if got > 1000 {
		t.Errorf("%v allocations for %d tensors", got, n)
	}
}
