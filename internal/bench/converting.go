package bench

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/convert"
	"github.com/weightmap/weightmap/format/gguf"
	"github.com/weightmap/weightmap/internal/floor"
	"github.com/weightmap/weightmap/tensor"
)

// convertVerdicts measures quantizing a file of 100 MB in memory, relative to copying it.
func convertVerdicts() (all []verdict) {
	int8s, blocks := tensor.QuantizeOptions{PerChannel: true}, tensor.QuantizeOptions{Encoding: gguf.Q8_0()}
	for _, c := range []struct {
		name, to string
		o        tensor.QuantizeOptions
	}{{"int8/mobi", "mobi", int8s}, {"int8/wia", "wia", int8s}, {"q8_0/gguf", "gguf", blocks}} {
		all = append(all, verdict{name: "convert/" + c.name, limit: 1.2, figure: func(b *testing.B) float64 {
			o := &convert.Options{To: c.to, Quantize: convert.Quantized(c.o), QuantizeOnly: func(tensor.Info) bool { return true }}
			o.NoSync = true
			return converting(b, rows(Models[1]), o)
		}})
	}
	return all
}

// rows returns the model m with two-dimensional tensors whose rows are whole blocks.
func rows(m Model) Model {
	return Model{m.Name, func() (*format.Plan, []byte) {
		p, data := m.Plan()
		two := &format.Plan{}
		for _, t := range p.Tensors {
			const width = 1024
			if n := t.Size / 4 / width; n > 0 {
				t.Shape, t.Size = tensor.Shape{n, width}, 4*n*width
				two.Tensors = append(two.Tensors, t)
			}
		}
		return two, data
	}}
}

// converting measures the conversion of a safetensors file without disk I/O.
func converting(b *testing.B, m Model, o *convert.Options) float64 {
	dir, err := os.MkdirTemp("/dev/shm", "weightmap-bench-")
	if err != nil {
		dir = b.TempDir()
	}
	defer os.RemoveAll(dir)
	in, ours, theirs := filepath.Join(dir, "in"), filepath.Join(dir, "ours"), filepath.Join(dir, "theirs")
	if _, err := Write("safetensors", in, m, &format.WriteOptions{NoSync: true}); err != nil {
		b.Fatal(err)
	}
	return floor.PairsOf(b, floor.Rounds, floor.Then(func() error {
		_, err := convert.File(in, ours, o)
		return err
	}, func() error { return os.Remove(ours) }), floor.Then(func() error {
		return copyFile(in, theirs)
	}, func() error { return os.Remove(theirs) })).Ratio
}

// copyFile copies a file like cp.
func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}
