package bench

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/floor"
	"github.com/weightmap/weightmap/tensor"
)

// firstFloatVerdicts measures opening a file of 1 GB, reading one element and closing it, relative to
// a file of 1 MB. MOBI is opened with format.CheckStructure, since by default opening validates a
// checksum of the whole file.
func firstFloatVerdicts() (all []verdict) {
	for _, name := range format.Writable() {
		all = append(all, verdict{name: "first-float/" + name, limit: 1.5, figure: func(b *testing.B) float64 {
			const size = 1 << 30
			dir := b.TempDir()
			if free, ok := floor.DiskFree(dir); ok && free < 2*size {
				b.Skip("too little room on disk")
			}
			o := &format.Options{}
			if name == "mobi" {
				o.Check = format.CheckStructure
			}
			return floor.Pairs(b, floor.Rounds, firstFloat(b, name, filepath.Join(dir, "large"), size, o), firstFloat(b, name, filepath.Join(dir, "small"), 1<<20, o))
		}})
	}
	return all
}

// firstFloat writes a model of one tensor and returns a function that reads its first element. The
// tensor has the file's name, as some formats require.
func firstFloat(b *testing.B, name, path string, size int64, o *format.Options) func() error {
	m := Model{Plan: func() (*format.Plan, []byte) {
		info := tensor.Info{Name: filepath.Base(path), DType: tensor.Float32, Shape: tensor.Shape{size / 4}, Size: size}
		return &format.Plan{Tensors: []tensor.Info{info}}, make([]byte, size)
	}}
	if _, err := Write(name, path, m, &format.WriteOptions{NoSync: true}); err != nil {
		b.Fatal(err)
	}
	return func() error {
		f, err := format.Open(path, o)
		if err != nil {
			return err
		}
		defer f.Close()
		x, err := tensor.As[float32](f.At(0))
		if err == nil && x[0] != 0 {
			err = fmt.Errorf("%v instead of 0", x[0])
		}
		return err
	}
}
