package bench

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/floor"
	"github.com/weightmap/weightmap/tensor"
)

// useVerdicts measures looking up tensors and holding them.
func useVerdicts() []verdict {
	return []verdict{
		{name: "lookup/10000", limit: 1.5, figure: againstMap},
		{name: "use/2goroutines", limit: 1.7, least: true, figure: usedTwice},
	}
}

// againstMap measures lookups of 10,000 long names in random order in a model, relative to a map. The
// names are copies of the map's keys, since comparing a string with itself takes no time.
func againstMap(b *testing.B) float64 {
	const n = 10_000
	p := &format.Plan{}
	asked := make([]string, n)
	theirs := map[string]int{}
	for i := range n {
		name := fmt.Sprintf("model.layers.%d.block_sparse_moe.experts.%d.down_proj.weight", i/64, i%64)
		p.Tensors = append(p.Tensors, tensor.Info{Name: name, DType: tensor.Float32, Shape: tensor.Shape{1}, Size: 4})
		theirs[name] = i
	}
	// Copy the strings, so that they do not lie next to the map's keys.
	for i := range p.Tensors {
		asked[i*7919%n] = strings.Clone(p.Tensors[i].Name)
	}
	path := filepath.Join(b.TempDir(), "names")
	w, err := format.Create("mag", path, p, &format.WriteOptions{NoSync: true})
	if err == nil {
		err = feed(w, p, make([]byte, 4*n))
	}
	if err != nil {
		b.Fatal(err)
	}
	f, err := format.Open(path, nil)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	found := 0
	return floor.Pairs(b, floor.Rounds, func() error {
		for _, name := range asked {
			if _, err := f.Tensor(name); err != nil {
				return err
			}
		}
		return nil
	}, func() error {
		for _, name := range asked {
			found += theirs[name]
		}
		return nil
	})
}

// usedTwice measures the throughput of two goroutines that hold a view, relative to one.
func usedTwice(b *testing.B) float64 {
	f, err := format.Open(File(b, "mag", Models[0]).Path, nil)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	v := f.At(0)
	many := func() error {
		for range 10_000 {
			if err := v.Use(func([]byte) error { return nil }); err != nil {
				return err
			}
		}
		return nil
	}
	return floor.PairsOf(b, floor.Rounds, floor.Timed(many), together(many, many)).Ratio
}
