package tensor

import (
	"errors"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestDequantize(t *testing.T) {
	one := &Quantization{Scales: []float32{0.5}, ZeroPoints: []int32{-2}, Axis: PerTensor}
	plain := &Quantization{Scales: []float32{2}, Axis: PerTensor}
	lg := &Quantization{Scheme: Logarithmic, Scales: []float32{0.5}, ZeroPoints: []int32{1}, Axis: PerTensor}
	tests := []struct {
		name  string
		dt    DType
		shape Shape
		data  []byte
		q     *Quantization
		want  []float32
	}{
		{"int8", Int8, Shape{3}, []byte{0x80, 0xfe, 0x7f}, one, []float32{-63, 0, 64.5}},
		{"uint8", Uint8, Shape{2}, []byte{0, 255}, one, []float32{1, 128.5}},
		{"int16", Int16, Shape{2}, le([]uint16{0x8000, 0x7fff}), one, []float32{-16383, 16384.5}},
		{"uint16", Uint16, Shape{2}, le([]uint16{0, 0xffff}), one, []float32{1, 32768.5}},
		{"int32", Int32, Shape{2}, le([]uint32{0x80000000, 0x7fffffff}), one, []float32{-0x1p30 + 1, 0x1p30}},
		{"uint32", Uint32, Shape{2}, le([]uint32{0, 0xffffffff}), one, []float32{1, 0x1p31}},
		{"int64", Int64, Shape{3}, le([]uint64{1 << 63, 1<<63 - 1, 4}), one, []float32{-0x1p62, 0x1p62, 3}},
		{"uint64", Uint64, Shape{3}, le([]uint64{0, 1<<64 - 1, 8}), one, []float32{1, 0x1p63, 5}},
		{"difference beyond 32 bits", Int32, Shape{1}, le([]uint32{0x80000000}),
			&Quantization{Scales: []float32{1}, ZeroPoints: []int32{math.MaxInt32}, Axis: PerTensor}, []float32{-0x1p32}},
		{"difference beyond 64 bits", Int64, Shape{2}, le([]uint64{1 << 63, 1<<63 - 1}),
			&Quantization{Scales: []float32{1}, ZeroPoints: []int32{math.MaxInt32}, Axis: PerTensor}, []float32{-0x1p63, 0x1p63}},
		{"difference beyond 64 bits, negative zero point", Int64, Shape{1}, le([]uint64{1<<63 - 1}),
			&Quantization{Scales: []float32{1}, ZeroPoints: []int32{math.MinInt32}, Axis: PerTensor}, []float32{0x1p63}},
		{"no zero point", Int8, Shape{2}, []byte{1, 0xff}, plain, []float32{2, -2}},
		{"scalar", Int8, nil, []byte{5}, plain, []float32{10}},
		{"empty", Int8, Shape{0}, nil, plain, nil},
		{"axis 0", Int8, Shape{2, 2}, []byte{1, 2, 3, 4},
			&Quantization{Scales: []float32{1, 10}, ZeroPoints: []int32{0, 1}, Axis: 0}, []float32{1, 2, 20, 30}},
		{"axis 1 of 3", Int16, Shape{2, 2, 2}, le([]uint16{1, 2, 3, 4, 5, 6, 7, 8}),
			&Quantization{Scales: []float32{1, 10}, Axis: 1}, []float32{1, 2, 30, 40, 5, 6, 70, 80}},
		{"last axis, one zero point for all", Uint8, Shape{2, 3}, []byte{1, 2, 3, 4, 5, 6},
			&Quantization{Scales: []float32{1, 10, 100}, ZeroPoints: []int32{1}, Axis: 1}, []float32{0, 10, 200, 3, 40, 500}},
		{"empty with channels", Int8, Shape{2, 0}, nil,
			&Quantization{Scales: []float32{1, 10}, Axis: 0}, nil},
		{"empty without channels", Int8, Shape{2, 0}, nil,
			&Quantization{ZeroPoints: []int32{3}, Axis: 1}, nil},
		{"logarithmic", Int8, Shape{5}, []byte{1, 3, 0xff, 5, 0xfd}, lg, []float32{0, 1, -1, 3, -3}},
		{"logarithmic uint8", Uint8, Shape{2}, []byte{0, 9}, lg, []float32{1 - math.Sqrt2, 15}},
		{"logarithmic int64", Int64, Shape{2}, le([]uint64{7, 1 << 63}), lg, []float32{7, float32(math.Inf(-1))}},
		{"logarithmic per channel", Int8, Shape{2, 2}, []byte{2, 2, 0xfe, 0xfe},
			&Quantization{Scheme: Logarithmic, Scales: []float32{1, 2}, Axis: 1}, []float32{3, 15, -3, -15}},
		{"logarithmic zero under any scale", Int8, Shape{1}, []byte{0},
			&Quantization{Scheme: Logarithmic, Scales: []float32{float32(math.Inf(1))}, Axis: PerTensor}, []float32{0}},
		{"negative scale", Int8, Shape{1}, []byte{3}, &Quantization{Scales: []float32{-2}, Axis: PerTensor}, []float32{-6}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := make([]float32, len(tt.want))
			must(t, Dequantize(got, tt.data, tt.dt, tt.shape, tt.q))
			equal(t, "", tt.want, got, cmpopts.EquateEmpty())
		})
	}
}

func TestDequantizeErrors(t *testing.T) {
	tests := []struct {
		name  string
		n     int
		dt    DType
		shape Shape
		data  []byte
		q     *Quantization
		want  error
		text  string
	}{
		{"no parameters", 1, Int8, Shape{1}, []byte{1}, nil, ErrQuantization, "none"},
		{"no scale", 1, Int8, Shape{1}, []byte{1}, &Quantization{Axis: PerTensor}, ErrQuantization, "0 scales for 1 channels"},
		{"two scales for a tensor", 1, Int8, Shape{1}, []byte{1}, &Quantization{Scales: []float32{1, 1}, Axis: PerTensor}, ErrQuantization, "2 scales for 1 channels"},
		{"one scale for two channels", 2, Int8, Shape{2}, []byte{1, 1}, &Quantization{Scales: []float32{1}}, ErrQuantization, "1 scales for 2 channels"},
		{"too many scales", 2, Int8, Shape{2}, []byte{1, 1}, &Quantization{Scales: []float32{1, 2, 3}}, ErrQuantization, "3 scales for 2 channels"},
		{"zero points", 3, Int8, Shape{3}, []byte{1, 1, 1}, &Quantization{Scales: []float32{1, 2, 3}, ZeroPoints: []int32{1, 2}}, ErrQuantization, "2 zero points for 3 scales"},
		{"two zero points for one scale", 1, Int8, Shape{1}, []byte{1}, &Quantization{Scales: []float32{1}, ZeroPoints: []int32{1, 2}, Axis: PerTensor}, ErrQuantization, "2 zero points"},
		{"axis too large", 1, Int8, Shape{1}, []byte{1}, &Quantization{Scales: []float32{1}, Axis: 1}, ErrQuantization, "axis 1"},
		{"axis negative", 1, Int8, Shape{1}, []byte{1}, &Quantization{Scales: []float32{1}, Axis: -2}, ErrQuantization, "axis -2"},
		{"axis of a scalar", 1, Int8, nil, []byte{1}, &Quantization{Scales: []float32{1}}, ErrQuantization, "axis 0"},
		{"scheme", 1, Int8, Shape{1}, []byte{1}, &Quantization{Scheme: 2, Scales: []float32{1}, Axis: PerTensor}, ErrQuantization, "scheme 2"},
		{"empty, wrong scales", 0, Int8, Shape{0, 2}, nil, &Quantization{Scales: []float32{1}, Axis: 1}, ErrQuantization, "1 scales for 2 channels"},
		{"empty, many channels", 0, Int8, Shape{0, 1 << 40}, nil, &Quantization{Scales: []float32{1}, Axis: 1}, ErrQuantization, "channels"},
		{"float elements", 1, Float32, Shape{1}, le([]uint32{0}), &Quantization{Scales: []float32{1}, Axis: PerTensor}, ErrQuantization, "float32"},
		{"bool elements", 1, Bool, Shape{1}, []byte{1}, &Quantization{Scales: []float32{1}, Axis: PerTensor}, ErrQuantization, "bool"},
		{"short destination", 1, Int8, Shape{2}, []byte{1, 2}, &Quantization{Scales: []float32{1}, Axis: PerTensor}, ErrShape, "1 elements for [2]"},
		{"short data", 2, Int16, Shape{2}, []byte{1, 2, 3}, &Quantization{Scales: []float32{1}, Axis: PerTensor}, ErrShape, "3 bytes"},
		{"long data", 2, Int16, Shape{2}, []byte{1, 2, 3, 4, 5}, &Quantization{Scales: []float32{1}, Axis: PerTensor}, ErrShape, "5 bytes"},
		{"shape overflow", 0, Int8, Shape{1 << 62, 4, 0}, nil, &Quantization{Scales: []float32{1}, Axis: PerTensor}, ErrShape, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			checkErr(t, Dequantize(make([]float32, tt.n), tt.data, tt.dt, tt.shape, tt.q), tt.want, tt.text)
			// What is wrong with the parameters themselves is known without data.
			if err := tt.q.Check(tt.dt, tt.shape); errors.Is(err, ErrQuantization) != (tt.want == ErrQuantization) {
				t.Errorf("Check = %v", err)
			}
		})
	}
}
