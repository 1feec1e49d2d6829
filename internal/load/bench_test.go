package load

import (
	"context"
	"crypto/sha256"
	"fmt"
	"testing"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/floor"
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

// BenchmarkFeed hashes a file with what must have copies, a piece of it after the other, in
// terms of hashing as many bytes that are in the nearest cache; BenchmarkHash
// computes the sums of its pieces, in terms of reading them.
func BenchmarkFeed(b *testing.B) {
	v, next := pieces(b)
	h, p := sha256.New(), make([]byte, 16<<10)
	floor.Pairs(b, 15, func() error { return v.Feed(h, 0, next(), roundSize, "") }, func() error {
		for range roundSize / len(p) {
			h.Write(p)
		}
		return nil
	})
}

func BenchmarkHash(b *testing.B) {
	v, next := pieces(b)
	for _, k := range []driver.Kind{driver.XXH64, driver.CRC32, driver.CRC32C, driver.Adler32} {
		b.Run(k.String(), func(b *testing.B) {
			floor.Pairs(b, 15, func() error {
				_, err := v.Hash(k, 0, next(), roundSize, "")
				return err
			}, func() error {
				data, err := v.m.main.Slice(next(), roundSize)
				floor.Read(data)
				return err
			})
		})
	}
}

// roundSize is what a round of a benchmark takes of a file that is larger than the caches.
const roundSize = 1 << 20

// pieces maps such a file and returns a verification of it, on one processor, and what
// says where the next piece begins.
func pieces(b *testing.B) (v *verification, next func() int64) {
	const size = 64 * roundSize
	d := &toy{tensors: []driver.Tensor{u8("w", 0, size)}}
	m := openPath(b, stored(b, "m.toy", ramp(size)), d)
	at := int64(0)
	return newVerification(m, context.Background(), &VerifyOptions{Workers: 1}), func() int64 {
		at = (at + 7*roundSize) % size
		return at
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
