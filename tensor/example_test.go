package tensor_test

import (
	"fmt"
	"log"

	"github.com/weightmap/weightmap/tensor"
)

// A slice as a tensor, to be saved or quantized; the slice is not copied.
func ExampleOf() {
	v, err := tensor.Of("embedding", tensor.Shape{2, 3}, []float32{1, 2, 3, 4, 5, 6})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(v)
	_, err = tensor.Of("embedding", tensor.Shape{2, 4}, []float32{1, 2, 3, 4, 5, 6})
	fmt.Println(err)
	// Output:
	// "embedding" float32 [2, 3]
	// invalid shape: float32 [2, 4] takes 32 bytes, not 24
}

// Rows of an embedding, decoded into one buffer.
func ExampleDecodeAt() {
	v, err := tensor.Of("embedding", tensor.Shape{3, 2}, []tensor.F16{0x3c00, 0x4000, 0x4200, 0x4400, 0x4500, 0x4600})
	if err != nil {
		log.Fatal(err)
	}
	columns := v.Shape()[1]
	row := make([]float32, columns)
	for _, token := range []int64{2, 0} {
		if err := tensor.DecodeAt(row, v, token*columns); err != nil {
			log.Fatal(err)
		}
		fmt.Println(row)
	}
	// Output:
	// [5 6]
	// [1 2]
}
