package torch

import (
	"fmt"
	"strconv"
	"testing"

	"github.com/weightmap/weightmap/format"
	_ "github.com/weightmap/weightmap/format/npy"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/internal/floor"
)

// BenchmarkOpen opens 10,000 tensors of a .pt, relative to as many of an .npz.
func BenchmarkOpen(b *testing.B) {
	const n = 10_000
	header := "\x93NUMPY\x01\x00\x76\x00" + fmt.Sprintf("%-117s\n", "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 2), }")
	var arrays []entryOf
	for i := range n {
		arrays = append(arrays, entryOf{"layer." + strconv.Itoa(i) + ".weight.npy", append([]byte(header), floats(4)...), false})
	}
	opening := func(name string, file []byte) func() error {
		return func() error {
			m, err := format.OpenBytes(file, &format.Options{Format: name})
			if err != nil {
				return err
			}
			expect.Equal(b, n, m.Len())
			return m.Close()
		}
	}
	floor.Pairs(b, opening("torch", manyTensors(b, n)), opening("npz", archived(b, arrays...)))
}
