package catalog

import (
	"fmt"
	"testing"

	"github.com/weightmap/weightmap/internal/mapped"
	"github.com/weightmap/weightmap/tensor"
)

// benchNames makes n names as large models have them, in one slice of memory.
func benchNames(n int) (names [][]byte, total int) {
	var all []byte
	for i := range n {
		name := fmt.Sprintf("experts.%d.linear.weight", i)
		all = append(all, name...)
		names = append(names, nil)
		names[i] = all[len(all)-len(name):]
	}
	return names, len(all)
}

// fill makes a catalog of those names.
func fill(r *mapped.Region, names [][]byte, total int) *Catalog {
	c := New(r, "bench", "1", len(names), total, 2*len(names))
	t := &Tensor{DType: tensor.Float32, Size: 256}
	for _, name := range names {
		t.Name, t.Shape = name, c.Dims(2)
		t.Shape[0], t.Shape[1] = 8, 8
		c.Add(t)
	}
	return c
}

// BenchmarkAdd lists 10,000 tensors, as opening a file does.
func BenchmarkAdd(b *testing.B) {
	names, total := benchNames(10_000)
	r := mapped.FromBytes(make([]byte, 256))
	b.ReportAllocs()
	for b.Loop() {
		if c := fill(r, names, total); c.Len() != len(names) {
			b.Fatal(c.Len())
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(names)), "ns/tensor")
}

// BenchmarkTensor looks up names in an order that jumps about.
func BenchmarkTensor(b *testing.B) {
	for _, n := range []int{20, 300, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			names, total := benchNames(n)
			c := fill(mapped.FromBytes(make([]byte, 256)), names, total)
			keys := make([]string, n)
			for i := range keys {
				keys[i] = string(names[i*7919%n])
			}
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				if _, ok := c.Tensor(keys[i%n]); !ok {
					b.Fatal("missing")
				}
			}
		})
	}
}
