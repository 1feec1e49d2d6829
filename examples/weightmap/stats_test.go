package main

import (
	"bytes"
	"encoding/binary"
	"math"
	"testing"

	"github.com/weightmap/weightmap/examples/weightmap/internal/modelfile"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/tensor"
)

func float64s(values ...float64) (b []byte) {
	for _, x := range values {
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(x))
	}
	return b
}

func TestStats(t *testing.T) {
	numbers := func(min, max, mean any, zeros, nan, infinite float64) map[string]any {
		return map[string]any{"min": min, "max": max, "mean": mean, "zeros": zeros, "nan": nan, "infinite": infinite}
	}
	nan, inf := math.NaN(), math.Inf(1)
	for _, tt := range []struct {
		name string
		info tensor.Info
		data []byte
		want any
	}{
		{"plain", tensor.Info{DType: tensor.Float64, Shape: tensor.Shape{4}}, float64s(-1, 0, 2, 5), numbers(-1.0, 5.0, 1.5, 1, 0, 0)},
		{"minus zero", tensor.Info{DType: tensor.Float64, Shape: tensor.Shape{2}}, float64s(math.Copysign(0, -1), 1), numbers(0.0, 1.0, 0.5, 1, 0, 0)},
		{"odd ones apart", tensor.Info{DType: tensor.Float64, Shape: tensor.Shape{5}}, float64s(nan, inf, -inf, 3, 5), numbers(3.0, 5.0, 4.0, 0, 1, 2)},
		{"no finite one", tensor.Info{DType: tensor.Float64, Shape: tensor.Shape{1}}, float64s(nan), numbers(nil, nil, nil, 0, 1, 0)},
		{"sum beyond float64", tensor.Info{DType: tensor.Float64, Shape: tensor.Shape{2}}, float64s(math.MaxFloat64, math.MaxFloat64), numbers(math.MaxFloat64, math.MaxFloat64, nil, 0, 0, 0)},
		{"empty", tensor.Info{DType: tensor.Float64, Shape: tensor.Shape{0}}, nil, numbers(nil, nil, nil, 0, 0, 0)},
		{"quantized", tensor.Info{DType: tensor.Int8, Shape: tensor.Shape{3}, Quant: &tensor.Quantization{Scales: []float32{0.5}, ZeroPoints: []int32{2}, Axis: tensor.PerTensor}},
			[]byte{2, 4, 0xfe}, numbers(-2.0, 1.0, -1.0/3, 1, 0, 0)},
		{"bool", tensor.Info{DType: tensor.Bool, Shape: tensor.Shape{4}}, []byte{1, 0, 1, 1}, numbers(0.0, 1.0, 0.75, 1, 0, 0)},
		{"several pieces", tensor.Info{DType: tensor.Uint8, Shape: tensor.Shape{3, modelfile.PieceElems}}, bytes.Repeat([]byte{1, 3}, 3*modelfile.PieceElems/2), numbers(1.0, 3.0, 2.0, 0, 0, 0)},
		{"several pieces of rows", tensor.Info{DType: tensor.Uint8, Shape: tensor.Shape{2, modelfile.PieceElems + 1, 2}}, bytes.Repeat([]byte{1, 3}, 2*modelfile.PieceElems+2), numbers(1.0, 3.0, 2.0, 0, 0, 0)},
		{"complex", tensor.Info{DType: tensor.Complex64, Shape: tensor.Shape{1}}, make([]byte, 8), nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.info.Name = "w"
			file := "m.safetensors"
			if tt.info.Quant != nil {
				file = "m.wia"
			}
			path := save(t, file, schema.Schema{}, sample{tt.info, tt.data})
			got := inspectJSON(t, "-stats", path)["tensors"].([]any)[0].(map[string]any)["stats"]
			expect.Equal(t, tt.want, got)
			if _, there := inspectJSON(t, path)["tensors"].([]any)[0].(map[string]any)["stats"]; there {
				t.Error("statistics that nobody asked for")
			}
		})
	}
}
