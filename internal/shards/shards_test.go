package shards

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/weightmap/weightmap/format/driver"
)

// TestIndexLimits: an index lists no more tensors than are allowed, in 65,536 shards.
func TestIndexLimits(t *testing.T) {
	for _, n := range []int{maxShards, maxShards + 1} {
		var b strings.Builder
		b.WriteString(`{"weight_map":{`)
		for i := range n {
			if i > 0 {
				b.WriteByte(',')
			}
			fmt.Fprintf(&b, `"%d":"%d"`, i, i)
		}
		b.WriteString("}}")
		for _, most := range []int{n, n - 1} {
			_, err := Parse("safetensors", []byte(b.String()), most)
			if want := most < n || n > maxShards; want != errors.Is(err, driver.ErrLimit) {
				t.Errorf("%d shards, at most %d tensors: %v", n, most, err)
			}
		}
	}
}
