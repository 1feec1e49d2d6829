package bench

import (
	"testing"

	"github.com/weightmap/weightmap/internal/floor"
	"github.com/weightmap/weightmap/internal/lowbit"
	"github.com/weightmap/weightmap/tensor"
)

// numberElems is the number of elements decoded and encoded: 4 MB of float32.
const numberElems = 1 << 20

// numberVerdicts measures conversions from every kind of number to float32 and back on one core,
// relative to copying the float32.
func numberVerdicts() (all []verdict) {
	shape := tensor.Shape{1024, numberElems / 1024}
	one := &tensor.Quantization{Scales: []float32{0.01}, Axis: tensor.PerTensor}
	float8 := func(name string) tensor.Info {
		return tensor.Info{Shape: shape, Encoding: lowbit.Encoding(name)}
	}
	for _, c := range []struct {
		name  string
		info  tensor.Info
		limit float64
	}{
		{"float64", tensor.Info{DType: tensor.Float64, Shape: shape}, 1.4},
		{"int32", tensor.Info{DType: tensor.Int32, Shape: shape}, 1.1},
		{"int16/scale", tensor.Info{DType: tensor.Int16, Shape: shape, Quant: one}, 1},
		{"float8_e4m3fn", tensor.Info{DType: tensor.Float8E4M3FN, Shape: shape}, 2},
		{"float8_e5m2", tensor.Info{DType: tensor.Float8E5M2, Shape: shape}, 2},
		{"float8_e4m3fnuz", float8("F8_E4M3FNUZ"), 2},
		{"float8_e5m2fnuz", float8("F8_E5M2FNUZ"), 2},
		{"float8_e8m0", float8("F8_E8M0"), 2},
	} {
		all = append(all, verdict{name: "decode/" + c.name, limit: c.limit, figure: func(b *testing.B) float64 { return decoding(b, c.info) }})
	}
	for _, c := range []struct {
		name  string
		d     tensor.DType
		limit float64
	}{{"bfloat16", tensor.BFloat16, 1.2}, {"float16", tensor.Float16, 1.2}} {
		all = append(all, verdict{name: "encode/" + c.name, limit: c.limit, figure: func(b *testing.B) float64 {
			src, out := weights(numberElems), make([]byte, 2*numberElems)
			return relativeToCopy(b, src, func() error { return tensor.Encode(out, c.d, src) })
		}})
	}
	for _, c := range []struct {
		name string
		o    tensor.QuantizeOptions
	}{
		{"int8", tensor.QuantizeOptions{}},
		{"int8/first-axis", tensor.QuantizeOptions{PerChannel: true}},
		{"int8/last-axis", tensor.QuantizeOptions{PerChannel: true, Axis: 1}},
	} {
		all = append(all, verdict{name: "encode/" + c.name, limit: 5, figure: func(b *testing.B) float64 { return quantizing(b, shape, c.o) }})
	}
	return all
}

// decoding measures decoding random elements to float32.
func decoding(b *testing.B, info tensor.Info) float64 {
	size := info.DType.Size()
	if info.Encoding != nil {
		size = info.Encoding.BlockBytes
	}
	v, err := tensor.FromInfo(info, noise(int(size)*numberElems))
	if err != nil {
		b.Fatal(err)
	}
	out := make([]float32, numberElems)
	return relativeToCopy(b, weights(numberElems), func() error { _, err := tensor.Decode(out, v); return err })
}

// quantizing measures quantizing weights in pieces as a conversion does: one pass observes them, one
// encodes them.
func quantizing(b *testing.B, shape tensor.Shape, o tensor.QuantizeOptions) float64 {
	const piece = 1 << 16
	src, out := weights(numberElems), make([]byte, numberElems)
	return relativeToCopy(b, src, func() error {
		z, err := tensor.NewQuantizer(shape, o)
		for i := 0; err == nil && i < len(src); i += piece {
			err = z.Observe(src[i : i+piece])
		}
		if err == nil {
			_, err = z.Parameters()
		}
		for i := 0; err == nil && i < len(src); i += piece {
			err = z.Encode(out[i:i+piece], src[i:i+piece])
		}
		return err
	})
}

// relativeToCopy measures op relative to copying src.
func relativeToCopy(b *testing.B, src []float32, op func() error) float64 {
	to := make([]float32, len(src))
	return floor.Pairs(b, floor.Rounds, op, func() error { copy(to, src); return nil })
}
