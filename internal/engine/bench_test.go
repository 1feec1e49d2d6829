package engine

import (
	"context"
	"fmt"
	"testing"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/source"
	"github.com/weightmap/weightmap/tensor"
)

// benchModel maps a file of n tensors of 256 bytes with sums.
func benchModel(b *testing.B, n int, change ...func(*Config)) (m *Model, names []string) {
	b.Helper()
	d, data := many(n, 256, 0)
	d.file = sums{func(i int) driver.Sum {
		off := d.tensors[i].Offset
		return driver.Sum{Kind: driver.CRC32, Want: uint64(tensor.CRC32(data[off : off+256]))}
	}}
	for i := range d.tensors {
		t := &d.tensors[i]
		t.DType, t.Shape = tensor.Float32, tensor.Shape{8, 8}
		t.Name = fmt.Appendf(nil, "experts.%d.linear.weight", i)
		names = append(names, string(t.Name))
	}
	return openPath(b, stored(b, "m.toy", data), d, change...), names
}

// BenchmarkTensor looks up names in an order that jumps about.
func BenchmarkTensor(b *testing.B) {
	for _, n := range []int{20, 300, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			m, names := benchModel(b, n)
			keys := make([]string, n)
			for i := range keys {
				keys[i] = names[i*7919%n]
			}
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				if _, err := m.Tensor(keys[i%n]); err != nil {
					b.Fatal("missing")
				}
			}
		})
	}
}

// BenchmarkAs makes a typed slice of a view, BenchmarkUse holds one, and
// BenchmarkDo a model.
func BenchmarkAs(b *testing.B) {
	for name, c := range map[string]driver.Check{"plain": driver.CheckDefault, "touched": driver.CheckTouch} {
		b.Run(name, func(b *testing.B) {
			m, _ := benchModel(b, 20, check(c))
			v := m.At(7)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := tensor.As[float32](v); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkUse(b *testing.B) {
	m, _ := benchModel(b, 20)
	v := m.At(7)
	f := func([]byte) error { return nil }
	b.ReportAllocs()
	for b.Loop() {
		if err := v.Use(f); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDo(b *testing.B) {
	m, _ := benchModel(b, 20)
	f := func() error { return nil }
	b.ReportAllocs()
	for b.Loop() {
		if err := m.Do(f); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkVerify checks 10,000 small tensors.
func BenchmarkVerify(b *testing.B) {
	m, _ := benchModel(b, 10_000)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := m.Verify(context.Background(), &VerifyOptions{}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkOpen is what opening costs apart from mapping and parsing.
func BenchmarkOpen(b *testing.B) {
	d := &toy{tensors: []driver.Tensor{u8("w", 0, 8)}}
	c, data := config(d), ramp(8)
	b.ReportAllocs()
	for b.Loop() {
		m := &Model{}
		if err := m.Open(source.FromBytes(data), c); err != nil {
			b.Fatal(err)
		}
		m.Close()
	}
}
