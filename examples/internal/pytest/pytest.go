// Package pytest makes the TSR files that the tests of the converters convert.
package pytest

import (
	"bytes"
	"testing"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/tensor"
	"github.com/weightmap/weightmap/tsr"
)

// Sample is a tensor to convert.
type Sample struct {
	Name  string
	DType tensor.DType
	Shape tensor.Shape
	Data  []byte
}

// Samples returns samples of all dtypes and ranks of TSR files, including shapes without elements.
func Samples() []Sample {
	var all []Sample
	for _, d := range []tensor.DType{tensor.Float32, tensor.Int8, tensor.Int32} {
		for name, s := range map[string]tensor.Shape{
			"scalar": {}, "one": {5}, "two": {3, 4}, "three": {2, 3, 4}, "four": {2, 3, 4, 5}, "empty": {2, 0, 3},
		} {
			size, _ := s.ByteSize(d)
			data := make([]byte, size)
			for i := range data {
				data[i] = byte(i*37 + 131)
				if i%4 == 3 {
					data[i] = 0x42 | byte(i)<<5&0x80 // finite as float32
				}
			}
			all = append(all, Sample{name + "-" + d.String(), d, s, data})
		}
	}
	return all
}

// Write writes the sample to a TSR file.
func (s *Sample) Write(t *testing.T, path string) {
	t.Helper()
	info := tensor.Info{Name: s.Name, DType: s.DType, Shape: s.Shape}
	w, err := format.Create(path, &schema.Schema{Tensors: []tensor.Info{info}}, &format.WriteOptions{Format: tsr.Format{}})
	expect.OK(t, err)
	defer w.Abort()
	expect.OK(t, w.WriteTensor(s.Name, bytes.NewReader(s.Data)))
	expect.OK(t, w.Close())
}
