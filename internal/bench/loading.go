package bench

import (
	"context"
	"fmt"
	"testing"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/floor"
	"github.com/weightmap/weightmap/tensor"
)

// loadVerdicts: Model.Load of all rows of 1 GB, in an order that jumps about, relative to two goroutines that read
// the same bytes into the same memory by pread(2): with the file in the system's cache, and on disk.
func loadVerdicts() []verdict {
	return []verdict{
		{name: "load/warm", limit: 1.05, figure: func(b *testing.B) float64 { return loadedAll(b, false) }},
		{name: "load/cold", limit: 1.1, figure: func(b *testing.B) float64 { return loadedAll(b, true) }},
	}
}

func loadedAll(b *testing.B, drop bool) float64 {
	const tensors, rows, columns = 64, 4, 1 << 20
	var list []tensor.Info
	for i := range tensors {
		list = append(list, tensor.Info{Name: fmt.Sprint("layer", i), DType: tensor.Float32, Shape: tensor.Shape{rows, columns}, Size: rows * columns * 4})
	}
	c := coldModel(b, list...)
	dst := filled[byte](tensors * rows * columns * 4)
	var requests []format.Request
	for k := range tensors * rows {
		k = k * 7919 % (tensors * rows)
		requests = append(requests, format.Request{
			Tensor: list[k/rows].Name, Slice: []tensor.Range{tensor.At(int64(k % rows))}, Bytes: dst[k*columns*4:][:columns*4],
		})
	}
	before := func() error { return nil }
	if drop {
		before = c.drop
	}
	const workers = 2
	load := func() error { return c.m.Load(context.Background(), requests, nil) }
	pread := func() error { return c.pread(workers, dst) }
	return floor.PairsOf(b, floor.Rounds, floor.Then(load, before), floor.Then(pread, before)).Ratio
}
