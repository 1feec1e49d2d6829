package safetensors

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/jsonmeta"
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
			index := []byte(b.String())
			w := weightMap{s: jsonmeta.NewScanner(index, strict), text: &text{}, numbers: map[string]int{}}
			err := w.parse(index, most)
			if want := most < n || n > maxShards; want != errors.Is(err, format.ErrLimit) {
				t.Errorf("%d shards, at most %d tensors: %v", n, most, err)
			}
		}
	}
}

// TestLargeIndex: an index over the limit is refused before it is read.
func TestLargeIndex(t *testing.T) {
	index := []byte(`{"weight_map":{}}` + strings.Repeat(" ", 48))
	for most, want := range map[int64]string{int64(len(index)): "", int64(len(index)) - 1: "index"} {
		_, err := codec.OpenBytes(index, &format.Options{MaxHeaderBytes: most})
		var e *format.Error
		if errors.Is(err, format.ErrLimit) != (want != "") || want != "" && (!errors.As(err, &e) || e.Field != want) {
			t.Errorf("at most %d bytes: %v", most, err)
		}
	}
}
