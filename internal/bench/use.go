package bench

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/floor"
	"github.com/weightmap/weightmap/tensor"
)

// use measures looking up tensors and holding them.
func (t *table) use() {
	t.most("lookup/10000", 1.5, againstMap)
	t.least("use/2goroutines", 1.7, usedTwice)
}

// againstMap measures lookups of 10,000 long names in random order in a model, relative to a map. The
// names are copies of the map's keys, since comparing a string with itself takes no time.
func againstMap(b *testing.B) float64 {
	const n = 10_000
	var infos []tensor.Info
	names, byName := make([]string, n), map[string]int{}
	for i := range n {
		name := fmt.Sprintf("model.layers.%d.block_sparse_moe.experts.%d.down_proj.weight", i/64, i%64)
		infos = append(infos, tensor.Info{Name: name, DType: tensor.Float32, Shape: tensor.Shape{1}, Size: 4})
		byName[name] = i
	}
	// Copy the strings, so that they do not lie next to the map's keys.
	for i := range infos {
		names[i*7919%n] = strings.Clone(infos[i].Name)
	}
	m := Open(b, File(b, "mag", Model{"names", func() (*format.Plan, []byte) { return &format.Plan{Tensors: infos}, make([]byte, 4) }}).Path)
	found := 0
	return floor.Pairs(b, func() error {
		for _, name := range names {
			if _, err := m.Tensor(name); err != nil {
				return err
			}
		}
		return nil
	}, func() error {
		for _, name := range names {
			found += byName[name]
		}
		return nil
	})
}

// usedTwice measures the throughput of two goroutines that hold a view, relative to one.
func usedTwice(b *testing.B) float64 {
	v := Open(b, File(b, "mag", small).Path).At(0)
	return twice(b, func() error {
		for range often {
			if err := v.Use(func([]byte) error { return nil }); err != nil {
				return err
			}
		}
		return nil
	})
}

// often is the number of runs timed together of an operation that takes nanoseconds.
const often = 10_000

// twice measures the throughput of op in two goroutines, relative to one.
func twice(b *testing.B, op func() error) float64 {
	return floor.PairsOf(b, floor.Timed(op), together(op, op)).Ratio
}

// together returns a round that runs each function n times in its own goroutine. Its time is the total
// divided by the number of functions.
func together(fs ...func() error) floor.Round {
	return func(n int) (time.Duration, error) {
		var group sync.WaitGroup
		errs := make([]error, len(fs))
		start := time.Now()
		for i, f := range fs {
			group.Go(func() { _, errs[i] = floor.Timed(f)(n) })
		}
		group.Wait()
		return time.Since(start) / time.Duration(len(fs)), errors.Join(errs...)
	}
}
