package convert_test

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/convert"
	"github.com/weightmap/weightmap/internal/floor"
	"github.com/weightmap/weightmap/internal/testmodel"
	"github.com/weightmap/weightmap/tensor"
)

// BenchmarkFile converts a model of 300 tensors in 100 MB. The floor is copying its
// file and waiting for the disk.
func BenchmarkFile(b *testing.B) {
	in := filepath.Join(b.TempDir(), "large.safetensors")
	if err := large(in); err != nil {
		b.Fatal(err)
	}
	for _, bb := range []struct {
		name, to string
		o        convert.Options
	}{
		{"plain/safetensors", "safetensors", convert.Options{}},
		{"plain/mag", "mag", convert.Options{}},
		{"plain/gguf", "gguf", convert.Options{}},
		{"plain/npz", "npz", convert.Options{}},
		{"plain/mle", "mle", convert.Options{}},
		{"plain/wia", "wia", convert.Options{}},
		{"plain/onnx", "onnx", convert.Options{}},
		{"plain/mobi", "mobi", convert.Options{}},
		{"int8/wia", "wia", convert.Options{Quantize: convert.Quantized(tensor.QuantizeOptions{})}},
		{"int8/mobi", "mobi", convert.Options{Quantize: convert.Quantized(tensor.QuantizeOptions{})}},
		{"float16/safetensors", "safetensors", convert.Options{DType: tensor.Float16}},
		{"float16/mag", "mag", convert.Options{DType: tensor.Float16}},
		{"verified/mag", "mag", convert.Options{Verify: true}},
	} {
		b.Run(bb.name, func(b *testing.B) {
			dir := b.TempDir()
			bb.o.To = bb.to
			floor.Pairs(b, floor.Rounds, func() error {
				_, err := convert.File(in, filepath.Join(dir, "target"), &bb.o)
				return err
			}, func() error { return copyFile(in, filepath.Join(dir, "copy")) })
		})
	}
}

// large writes the model with generated weights.
func large(path string) error {
	p := &format.Plan{}
	for _, s := range testmodel.Large() {
		p.Tensors = append(p.Tensors, s.Info())
	}
	w, err := format.Create("", path, p, nil)
	if err != nil {
		return err
	}
	defer w.Abort()
	for _, s := range testmodel.Large() {
		if err := w.WriteTensor(s.Info().Name, bytes.NewReader(s.Bytes())); err != nil {
			return err
		}
	}
	return w.Close()
}

// copyFile copies as a user would who wants to be sure of it: to a new file that takes the
// place of the old one once it is on disk.
func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.Create(to + ".tmp")
	if err != nil {
		return err
	}
	if _, err := io.Copy(out, in); err != nil {
		return err
	}
	if err := out.Sync(); err != nil {
		return err
	}
	if err := out.Close(); err != nil {
		return err
	}
	return os.Rename(to+".tmp", to)
}
