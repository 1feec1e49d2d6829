package tensor

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/weightmap/weightmap/internal/floor"
	"github.com/weightmap/weightmap/internal/vector"
)

// benchFloats returns a million layer-scaled normal values.
func benchFloats() []float32 {
	r := rand.New(rand.NewPCG(1, 1))
	f := make([]float32, 1<<20)
	for i := range f {
		f[i] = float32(r.NormFloat64() * 0.05)
	}
	return f
}

// BenchmarkFloat16 counts the bytes of the float32 side.
func BenchmarkFloat16(b *testing.B) {
	f := benchFloats()
	p := make([]byte, 2*len(f))
	for _, s := range smalls {
		b.Run("encode/"+s.name, func(b *testing.B) {
			b.SetBytes(int64(4 * len(f)))
			for b.Loop() {
				s.enc(p, f)
			}
		})
		b.Run("decode/"+s.name, func(b *testing.B) {
			s.enc(p, f)
			dst := make([]float32, len(f))
			b.SetBytes(int64(4 * len(f)))
			for b.Loop() {
				s.dec(dst, p)
			}
		})
	}
	b.Run("decode/float16-zeros", func(b *testing.B) {
		clear(p)
		dst := make([]float32, len(f))
		b.SetBytes(int64(4 * len(f)))
		for b.Loop() {
			vector.Float16(dst, p)
		}
	})
}

// stored is a tensor whose numbers become float32.
type stored struct {
	name string
	view View
}

// storedViews returns views of n elements in rows of 4096.
func storedViews(n int) []stored {
	const columns = 4096
	data := make([]byte, 2*n)
	r := rand.New(rand.NewPCG(7, 7))
	for i := range data {
		data[i] = byte(r.Uint32())
	}
	scales, zeros := make([]float32, columns), make([]int32, columns)
	for i := range scales {
		scales[i], zeros[i] = r.Float32(), int32(r.IntN(256)-128)
	}
	first := n / columns
	var all []stored
	for _, c := range []struct {
		name  string
		dtype DType
		quant *Quantization
	}{
		{"float16", Float16, nil},
		{"bfloat16", BFloat16, nil},
		{"int8", Int8, &Quantization{Scales: scales[:1], ZeroPoints: zeros[:1], Axis: PerTensor}},
		{"uint8", Uint8, &Quantization{Scales: scales[:1], Axis: PerTensor}},
		{"int8-first", Int8, &Quantization{Scales: slices.Repeat(scales, first/columns+1)[:first], Axis: 0}},
		{"int8-last", Int8, &Quantization{Scales: scales, Axis: 1}},
		{"int8-last-zeros", Int8, &Quantization{Scales: scales, ZeroPoints: zeros, Axis: 1}},
	} {
		info := &Info{Name: c.name, DType: c.dtype, Shape: Shape{int64(first), columns}, Quant: c.quant}
		info.Size = int64(n) * c.dtype.Size()
		all = append(all, stored{c.name, newView(info, &owner{}, data[:info.Size])})
	}
	return all
}

// BenchmarkDecode compares decoding to float32 with copying as many float32, both
// from and to memory that no cache holds: into the same memory each time, and into
// fresh memory, where most is the system's work.
func BenchmarkDecode(b *testing.B) {
	const n = 24 << 20
	from, dst := make([]float32, n), make([]float32, n)
	for i := range from {
		from[i] = float32(i)
	}
	for _, s := range storedViews(n) {
		run := func(name string, op, floorOp func() error) {
			b.Run(name+"/"+s.name, func(b *testing.B) {
				b.SetBytes(4 * n)
				floor.Pairs(b, floor.Rounds, op, floorOp)
			})
		}
		run("reused",
			func() error { _, err := Decode(dst, s.view); return err },
			func() error { copy(dst, from); return nil })
		run("fresh",
			func() error { _, err := Decode[float32](nil, s.view); return err },
			func() error { copied = append([]float32(nil), from...); return nil })
	}
}

var copied []float32

// BenchmarkQuantize counts the bytes of the float32 side.
func BenchmarkQuantize(b *testing.B) {
	f := benchFloats()
	shape := Shape{1024, 1024}
	for _, c := range []struct {
		name string
		o    QuantizeOptions
	}{
		{"int8", QuantizeOptions{DType: Int8}},
		{"int8-asymmetric", QuantizeOptions{DType: Int8, Asymmetric: true}},
		{"int8-percentile", QuantizeOptions{DType: Int8, Percentile: 99.9}},
		{"int8-axis0", QuantizeOptions{DType: Int8, PerChannel: true}},
		{"int8-axis1", QuantizeOptions{DType: Int8, PerChannel: true, Axis: 1}},
		{"int16", QuantizeOptions{DType: Int16}},
		{"float16", QuantizeOptions{DType: Float16}},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.SetBytes(int64(4 * len(f)))
			b.ReportAllocs()
			for b.Loop() {
				if _, _, _, err := Quantize(f, shape, c.o); err != nil {
					b.Fatal(err)
				}
			}
		})
		if c.o.DType == Float16 {
			continue
		}
		b.Run(c.name+"/back", func(b *testing.B) {
			data, q, _, err := Quantize(f, shape, c.o)
			if err != nil {
				b.Fatal(err)
			}
			dst := make([]float32, len(f))
			b.SetBytes(int64(4 * len(f)))
			for b.Loop() {
				if err := Dequantize(dst, data, c.o.DType, shape, q); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
