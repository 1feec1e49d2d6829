package tensor_test

import (
	"errors"
	"fmt"
	"log"

	"github.com/weightmap/weightmap/format/gguf"
	"github.com/weightmap/weightmap/tensor"
)

func ExampleF16From() {
	h := tensor.F16From(0.1)
	fmt.Printf("%v %#04x %v\n", h.DType(), uint16(h), h.Float32())
	fmt.Println(tensor.F16From(65504).Float32(), tensor.F16From(65520).Float32())
	b := tensor.BF16From(3.14159)
	fmt.Printf("%v %#04x %v\n", b.DType(), uint16(b), b.Float32())
	// Output:
	// float16 0x2e66 0.099975586
	// 65504 +Inf
	// bfloat16 0x4049 3.140625
}

// Quantize weights to int8 with a scale for each row, and back.
func ExampleQuantize() {
	shape := tensor.Shape{2, 3}
	weights := []float32{63.5, -20.1, 7, 31.75, 5.3, -2.5}
	data, q, stats, err := tensor.Quantize(weights, shape, tensor.QuantizeOptions{
		DType:      tensor.Int8,
		PerChannel: true, // along axis 0
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(data), "bytes, scales", q.Scales)
	fmt.Printf("largest error %.3f, %.0f dB\n", stats.MaxAbs, stats.SNR)

	real := make([]float32, len(weights))
	if err := tensor.Dequantize(real, data, tensor.Int8, shape, q); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%.2f\n", real)
	// Output:
	// 6 bytes, scales [0.5 0.25]
	// largest error 0.100, 56 dB
	// [63.50 -20.00 7.00 31.75 5.25 -2.50]
}

// Two goroutines compute the checksum of one part each.
func ExampleCombineAdler32() {
	head, tail := []byte("12345"), []byte("6789")
	adler := tensor.CombineAdler32(tensor.Adler32(head), tensor.UpdateAdler32(1, tail), int64(len(tail)))
	crcc := tensor.CombineCRC32C(tensor.UpdateCRC32C(0, head), tensor.UpdateCRC32C(0, tail), int64(len(tail)))
	crc := tensor.CombineCRC32(tensor.CRC32(head), tensor.UpdateCRC32(0, tail), int64(len(tail)))
	fmt.Printf("%#x %#x %#x\n", crc, crcc, adler)
	// Output: 0xcbf43926 0xe3069283 0x91e01de
}

// Float32 numbers as a file holds them.
func ExampleEncode() {
	buf := make([]byte, 4)
	err := tensor.Encode(buf, tensor.Float16, []float32{1, -0.5})
	fmt.Printf("% x %v\n", buf, err)
	// Output: 00 3c 00 b8 <nil>
}

// A tensor that does not fit in memory is quantized in two passes over its pieces.
func ExampleNewQuantizer() {
	pieces := [][]float32{{63.5, -20.1, 7}, {31.75, 5.3, -2.5}} // such as parts of a file
	z, err := tensor.NewQuantizer(tensor.Shape{2, 3}, tensor.QuantizeOptions{DType: tensor.Int8, PerChannel: true})
	if err != nil {
		log.Fatal(err)
	}
	for _, p := range pieces {
		err = errors.Join(err, z.Observe(p))
	}
	q, params := z.Parameters()
	if err = errors.Join(err, params); err != nil {
		log.Fatal(err)
	}
	buf := make([]byte, 3)
	for i, p := range pieces {
		err := z.Encode(buf, p)
		fmt.Printf("% x, scale %v %v\n", buf, q.Scales[i], err)
	}
	fmt.Printf("%.0f dB\n", z.Stats().SNR)
	// Output:
	// 7f d8 0e, scale 0.5 <nil>
	// 7f 15 f6, scale 0.25 <nil>
	// 56 dB
}

// Parameters from a file may not fit the tensor.
func ExampleQuantization_Check() {
	q := &tensor.Quantization{Scales: []float32{0.5, 0.25}, Axis: 0}
	fmt.Println(q.Check(tensor.Int8, tensor.Shape{2, 3}))
	fmt.Println(q.Check(tensor.Int8, tensor.Shape{3, 2}))

	c := q.Clone()
	c.ZeroPoints = []int32{0} // as good as none
	fmt.Println(c.Equal(q))
	// Output:
	// <nil>
	// invalid quantization parameters: 2 scales for 3 channels
	// true
}

// The size of a tensor, with an error where it would overflow.
func ExampleShape() {
	s := tensor.Shape{2, 3}
	n, err := s.Elems()
	fmt.Println(s, n, err)
	size, err := s.ByteSize(tensor.Float32)
	fmt.Println(size, "bytes", err)

	t := s.Clone()
	t[0] = 1 << 62
	_, err = t.Elems()
	fmt.Println(t.Equal(s), errors.Is(err, tensor.ErrShape))
	// Output:
	// [2, 3] 6 <nil>
	// 24 bytes <nil>
	// false true
}

// Names of dtypes are those of NumPy, and bfloat16. Other spellings are known too.
func ExampleParseDType() {
	for _, name := range []string{"bfloat16", "F32", "half", "float12"} {
		d, ok := tensor.ParseDType(name)
		fmt.Println(d, d.Size(), d.Valid(), ok)
	}
	// Output:
	// bfloat16 2 true true
	// float32 4 true true
	// float16 2 true true
	// invalid 0 false false
}

// A tensor of a schema, and its size before there is data.
func ExampleInfo() {
	plain := tensor.Info{Name: "a", DType: tensor.Float32, Shape: tensor.Shape{2, 3}}
	blocks := tensor.Info{Name: "b", Encoding: gguf.Q8_0(), Shape: tensor.Shape{2, 64}}
	for _, i := range []tensor.Info{plain, blocks} {
		size, err := i.ByteSize()
		fmt.Println(i.Name, i.TypeName(), size, err)
	}
	fmt.Println(blocks.Encoding.Bytes(tensor.Shape{2, 63}))
	// Output:
	// a float32 24 <nil>
	// b Q8_0 136 <nil>
	// 0 invalid shape: rows of [2, 63] are not a multiple of 32, a block of Q8_0
}

// Names of tensors are UTF-8 without NUL.
func ExampleCheckName() {
	fmt.Println(tensor.CheckName("fc.weight"))
	fmt.Println(tensor.CheckName(""))
	// Output:
	// <nil>
	// corrupt: empty name
}

// Quantized integers decode to the numbers they stand for.
func ExampleFromInfo() {
	v, err := tensor.FromInfo(tensor.Info{
		Name:  "w",
		DType: tensor.Int8,
		Shape: tensor.Shape{3},
		Quant: &tensor.Quantization{Scales: []float32{0.5}, Axis: tensor.PerTensor},
	}, []byte{2, 0, 0xff})
	if err != nil {
		log.Fatal(err)
	}
	values, err := tensor.Decode[float32](nil, v)
	fmt.Println(values, err)
	// Output: [1 0 -0.5] <nil>
}
