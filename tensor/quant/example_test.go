package quant_test

import (
	"errors"
	"fmt"
	"log"

	"github.com/weightmap/weightmap/tensor"
	"github.com/weightmap/weightmap/tensor/quant"
)

func ExampleJoin() {
	weight, err := tensor.FromBytes("fc.weight", tensor.Int8, tensor.Shape{2, 3}, []byte{1, 2, 3, 1, 2, 0xff})
	scale, errScale := tensor.Of("fc.weight_scale", tensor.Shape{2, 1}, []float32{0.5, 10})
	if err := errors.Join(err, errScale); err != nil {
		log.Fatal(err)
	}
	joined, err := quant.Join(weight, scale)
	if err != nil {
		log.Fatal(err)
	}
	numbers, err := tensor.Decode[float32](nil, joined)
	fmt.Println(joined, numbers, err)
	// Output:
	// "fc.weight" float32 [2, 3] [0.5 1 1.5 10 20 -10] <nil>
}

// The inputs of a node DequantizeLinear are w, w_scale and w_zero_point.
func ExampleLinear() {
	w, err := tensor.FromBytes("w", tensor.Uint8, tensor.Shape{2, 2}, []byte{128, 129, 7, 9})
	scale, errScale := tensor.Of("w_scale", tensor.Shape{2}, []float32{0.5, 10})
	zero, errZero := tensor.FromBytes("w_zero_point", tensor.Uint8, tensor.Shape{2}, []byte{128, 7})
	if err := errors.Join(err, errScale, errZero); err != nil {
		log.Fatal(err)
	}
	v, err := quant.Linear(w, scale, zero, 0)
	if err != nil {
		log.Fatal(err)
	}
	numbers, err := tensor.Decode[float32](nil, v)
	fmt.Println(numbers, err)
	// Output:
	// [0 0.5 0 20] <nil>
}

func ExamplePairs() {
	tensors := []tensor.Info{
		{Name: "up.weight", DType: tensor.Float8E4M3FN, Shape: tensor.Shape{2048, 7168}},
		{Name: "up.weight_scale_inv", DType: tensor.Float32, Shape: tensor.Shape{16, 56}},
	}
	for _, p := range quant.Pairs(tensors) {
		fmt.Printf("%s with %s: %s\n", tensors[p.Weight].Name, tensors[p.Scale].Name, p.Layout)
	}
	// Output:
	// up.weight with up.weight_scale_inv: block scales 128x128
}

func ExampleFindPacked() {
	tensors := []tensor.Info{
		{Name: "up.qweight", DType: tensor.Int32, Shape: tensor.Shape{512, 11008}},
		{Name: "up.qzeros", DType: tensor.Int32, Shape: tensor.Shape{32, 1376}},
		{Name: "up.scales", DType: tensor.Float16, Shape: tensor.Shape{32, 11008}},
		{Name: "norm.weight", DType: tensor.Float16, Shape: tensor.Shape{4096}},
	}
	for _, p := range quant.FindPacked(tensors) {
		fmt.Println(p)
	}
	// Output:
	// 1 packed weight: GPTQ, 4 bits, groups of 128
}
