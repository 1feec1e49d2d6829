package format_test

import (
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/tensor"
)

// A program that loads tensors itself has a location, an offset and a length in a file that it does not trust.
func ExampleOpenExternalData() {
	dir, err := os.MkdirTemp("", "external")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	if err := os.WriteFile(filepath.Join(dir, "weights.bin"), []byte{9, 9, 1, 2, 3, 4}, 0o644); err != nil {
		log.Fatal(err)
	}
	data := format.OpenExternalData(dir)
	defer data.Close()
	section, err := data.Range("weights.bin", 2, 4)
	if err != nil {
		log.Fatal(err)
	}
	v, err := tensor.FromReaderAt(tensor.Info{Name: "w", DType: tensor.Int8, Shape: tensor.Shape{2, 2}}, section)
	if err != nil {
		log.Fatal(err)
	}
	numbers, err := tensor.Decode[float32](nil, v)
	fmt.Println(numbers, err)
	_, err = data.Range("../../etc/passwd", 0, 4)
	fmt.Println(errors.Is(err, format.ErrCorrupt))
	// Output:
	// [1 2 3 4] <nil>
	// true
}
