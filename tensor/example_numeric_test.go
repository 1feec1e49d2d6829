package tensor_test

import (
	"fmt"

	"github.com/weightmap/weightmap/tensor"
)

func ExampleF16From() {
	h := tensor.F16From(0.1)
	fmt.Printf("%#04x %v\n", uint16(h), h.Float32())
	fmt.Println(tensor.F16From(65504).Float32(), tensor.F16From(65520).Float32())
	// Output:
	// 0x2e66 0.099975586
	// 65504 +Inf
}

func ExampleBF16From() {
	b := tensor.BF16From(3.14159)
	fmt.Printf("%#04x %v\n", uint16(b), b.Float32())
	// Output:
	// 0x4049 3.140625
}

// Parts of a file summed apart, by several goroutines for instance, add up.
func ExampleCombineCRC32() {
	head, tail := []byte("12345"), []byte("6789")
	sum := tensor.CombineCRC32(tensor.CRC32(head), tensor.CRC32(tail), int64(len(tail)))
	fmt.Printf("%#x\n", sum)
	// Output:
	// 0xcbf43926
}

// Weights in one byte each, with a scale for every output channel, and back.
func ExampleQuantize() {
	shape := tensor.Shape{2, 3}
	weights := []float32{63.5, -20.1, 7, 31.75, 5.3, -2.5}
	data, q, stats, err := tensor.Quantize(weights, shape, tensor.QuantizeOptions{
		DType:      tensor.Int8,
		PerChannel: true, // along axis 0
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(len(data), "bytes, scales", q.Scales)
	fmt.Printf("largest error %.3f, %.0f dB\n", stats.MaxAbs, stats.SNR)

	real := make([]float32, len(weights))
	if err := tensor.Dequantize(real, data, tensor.Int8, shape, q); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%.2f\n", real)
	// Output:
	// 6 bytes, scales [0.5 0.25]
	// largest error 0.100, 56 dB
	// [63.50 -20.00 7.00 31.75 5.25 -2.50]
}

// An unsigned file tensor with a zero point.
func ExampleDequantize() {
	q := &tensor.Quantization{Scales: []float32{0.5}, ZeroPoints: []int32{128}, Axis: tensor.PerTensor}
	real := make([]float32, 3)
	if err := tensor.Dequantize(real, []byte{0, 128, 255}, tensor.Uint8, tensor.Shape{3}, q); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(real)
	// Output:
	// [-64 0 63.5]
}
