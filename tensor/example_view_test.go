//go:build !mips && !mips64 && !ppc64 && !s390x

// A big-endian host has no views of elements of several bytes.

package tensor_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log"
	"math"
	"os"
	"path/filepath"
	"strings"

	"github.com/weightmap/weightmap/format"
	_ "github.com/weightmap/weightmap/mag"
	"github.com/weightmap/weightmap/tensor"
)

// model opens a file with fc.weight, float32 [2, 3] from 1 to 6, and fc.bias, float16 [3].
func model() (m *format.Model, done func()) {
	dir, err := os.MkdirTemp("", "tensor")
	if err != nil {
		log.Fatal(err)
	}
	weight, err := tensor.Of("fc.weight", tensor.Shape{2, 3}, []float32{1, 2, 3, 4, 5, 6})
	bias, err2 := tensor.Of("fc.bias", tensor.Shape{3}, []tensor.F16{0x3c00, 0xb800, 0})
	path := filepath.Join(dir, "model.mag")
	if err := errors.Join(err, err2, format.Save(context.Background(), path, nil, []tensor.View{weight, bias}, nil)); err != nil {
		log.Fatal(err)
	}
	if m, err = format.Open(path, nil); err != nil {
		log.Fatal(err)
	}
	return m, func() {
		m.Close()
		os.RemoveAll(dir)
	}
}

// The slice is the mapping of the file itself.
func ExampleAs() {
	m, done := model()
	defer done()
	v, err := m.Tensor("fc.weight")
	if err != nil {
		log.Fatal(err)
	}
	weights, err := tensor.As[float32](v)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(weights, v.ZeroCopy())

	_, err = tensor.As[int8](v)
	fmt.Println(errors.Is(err, tensor.ErrDType))
	// Output:
	// [1 2 3 4 5 6] true
	// true
}

// Half-precision numbers as float32, in a buffer that is used again.
func ExampleDecode() {
	m, done := model()
	defer done()
	var buf []float32
	for _, v := range m.Tensors() {
		var err error
		if buf, err = tensor.Decode(buf, v); err != nil {
			log.Fatal(err)
		}
		fmt.Println(v.Name(), v.DType(), v.Shape(), v.Elems(), buf)
	}
	// Output:
	// fc.weight float32 [2, 3] 6 [1 2 3 4 5 6]
	// fc.bias float16 [3] 3 [1 -0.5 0]
}

// A View is an io.ReaderAt of Size bytes, which hold Elems elements.
func ExampleView_Size() {
	m, done := model()
	defer done()
	v, err := m.Tensor("fc.weight")
	if err != nil {
		log.Fatal(err)
	}
	b, err := io.ReadAll(io.NewSectionReader(v, 0, v.Size()))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(b), v.Size(), v.Elems())
	// Output: 24 24 6
}

// A row is a part of the mapping; a column is copied.
func ExampleView_Slice() {
	m, done := model()
	defer done()
	v, err := m.Tensor("fc.weight")
	if err != nil {
		log.Fatal(err)
	}
	row, err := v.Slice(tensor.At(1))
	if err != nil {
		log.Fatal(err)
	}
	column, err := v.Slice(tensor.Range{To: tensor.End}, tensor.At(-1))
	if err != nil {
		log.Fatal(err)
	}
	for _, s := range []tensor.View{row, column} {
		values, err := tensor.As[float32](s)
		fmt.Println(s.Shape(), values, err)
	}
	// Output:
	// [1, 3] [4 5 6] <nil>
	// [2, 1] [3 6] <nil>
}

// Bytes are little-endian and valid until the model is closed; a clone is on the heap.
func ExampleView_Bytes() {
	m, done := model()
	defer done()
	v, err := m.Tensor("fc.bias")
	if err != nil {
		log.Fatal(err)
	}
	c, err := v.Clone()
	if err != nil {
		log.Fatal(err)
	}
	m.Close()
	_, err = v.Bytes()
	fmt.Println(errors.Is(err, tensor.ErrClosed))
	b, err := c.Bytes()
	fmt.Printf("% x %v\n", b, err)
	// Output:
	// true
	// 00 3c 00 b8 00 00 <nil>
}

// Close waits for the function, and a file that is cut short meanwhile is ErrTruncated.
func ExampleView_Use() {
	m, done := model()
	defer done()
	v, err := m.Tensor("fc.weight")
	if err != nil {
		log.Fatal(err)
	}
	var sum float32
	err = v.Use(func(b []byte) error {
		for ; len(b) > 0; b = b[4:] {
			sum += math.Float32frombits(binary.LittleEndian.Uint32(b))
		}
		return nil
	})
	fmt.Println(sum, err)
	// Output: 21 <nil>
}

// Into memory of the caller's, such as that of an accelerator.
func ExampleView_ReadInto() {
	m, done := model()
	defer done()
	v, err := m.Tensor("fc.bias")
	if err != nil {
		log.Fatal(err)
	}
	buf := make([]byte, v.Info().Size)
	n, err := v.ReadInto(buf)
	fmt.Printf("%d bytes: % x %v\n", n, buf, err)
	_, err = v.ReadAt(buf[:2], 2) // a view is an io.ReaderAt
	fmt.Printf("% x %v\n", buf[:2], err)

	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err = v.ReadIntoContext(ctx, buf)
	fmt.Println(err)
	// Output:
	// 6 bytes: 00 3c 00 b8 00 00 <nil>
	// 00 b8 <nil>
	// context canceled
}

// The XXH64 of the bytes tells whether two tensors are equal.
func ExampleView_Digest() {
	v, err := tensor.FromBytes("w", tensor.Uint8, tensor.Shape{3}, []byte("abc"))
	if err != nil {
		log.Fatal(err)
	}
	sum, err := v.Digest()
	fmt.Printf("%016x %v\n", sum, err)
	// Output: 44bc2cf5ad770999 <nil>
}

// Pages that are needed soon are read ahead, those that are not are released.
func ExampleView_Prefetch() {
	m, done := model()
	defer done()
	for _, v := range m.Tensors() {
		if err := v.Prefetch(); err != nil { // returns before the pages are read
			log.Fatal(err)
		}
		if _, err := v.Resident(); err != nil { // the bytes in memory, where the system tells
			log.Fatal(err)
		}
		if err := v.Evict(); err != nil { // v is still valid
			log.Fatal(err)
		}
		if err := v.Lock(); errors.Is(err, tensor.ErrLimit) { // never waits for the disk again
			fmt.Println("the process may not lock as much: ulimit -l")
		}
	}
	// Output:
}

// The same bytes under another name and shape, without a copy.
func ExampleView_WithInfo() {
	m, done := model()
	defer done()
	v, err := m.Tensor("fc.weight")
	if err != nil {
		log.Fatal(err)
	}
	info := v.Info()
	info.Name, info.Shape = "linear.weight", tensor.Shape{6}
	flat, err := v.WithInfo(info)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(flat, flat.ZeroCopy())
	info.Shape = tensor.Shape{5}
	_, err = v.WithInfo(info)
	fmt.Println(errors.Is(err, tensor.ErrShape))
	// Output:
	// "linear.weight" float32 [6] true
	// true
}

// A tensor in a file of the program's own, which is read when it is used.
func ExampleFromReaderAt() {
	file := strings.NewReader("header\x01\x02\x03\x04\x05\x06")
	info := tensor.Info{Name: "w", DType: tensor.Uint8, Shape: tensor.Shape{3, 2}}
	v, err := tensor.FromReaderAt(info, io.NewSectionReader(file, 6, 6))
	if err != nil {
		log.Fatal(err)
	}
	row, err := v.Slice(tensor.At(1)) // reads nothing
	if err != nil {
		log.Fatal(err)
	}
	numbers, err := tensor.Decode[float32](nil, row) // reads two bytes
	fmt.Println(numbers, err)
	_, err = tensor.As[uint8](v)
	fmt.Println(errors.Is(err, tensor.ErrUnsupported))
	// Output:
	// [3 4] <nil>
	// true
}

// Shapes for libraries whose dims have other types.
func ExampleDims() {
	dims, err := tensor.Dims[int](tensor.Shape{16, 3})
	fmt.Println(dims, err)
	_, err = tensor.Dims[uint8](tensor.Shape{1000})
	fmt.Println(err)
	// Output:
	// [16 3] <nil>
	// invalid shape: dim 0 is 1000, which uint8 does not hold
}
