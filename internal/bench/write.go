package bench

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/convert"
	"github.com/weightmap/weightmap/format/gguf"
	"github.com/weightmap/weightmap/internal/floor"
	"github.com/weightmap/weightmap/tensor"
)

// write measures writing from memory without waiting for the disk, relative to plain writes.
func (t *table) write() {
	for _, name := range []string{"mag", "mle", "tsr", "mobi"} {
		l := large
		if name == "tsr" {
			l = single(large)
		}
		t.most("write/"+name+"/100MB", 1.15, func(b *testing.B) float64 { return PairWrites(b, name, l, false) })
		t.most("write/"+name+"/10000", 3, func(b *testing.B) float64 { return PairWrites(b, name, many, false) })
	}
	t.most("write/onnx-10000-to-mag", 3, func(b *testing.B) float64 {
		return floor.PairsOf(b, writing(b, "onnx", many, noSync), writing(b, "mag", many, noSync)).Ratio
	})
}

// writing returns a round that writes a model and removes it again: freeing a file's pages takes as
// long as writing some.
func writing(b *testing.B, name string, m Model, o *format.WriteOptions) floor.Round {
	path, p := filepath.Join(b.TempDir(), name), File(b, name, m).Plan
	_, data := m.Plan()
	return floor.Then(floor.Timed(func() error {
		w, err := format.Create(name, path, p, o)
		return feed(w, err, p, data)
	}), func() error { return os.RemoveAll(path) })
}

// PairWrites measures writing a model, relative to writing its bytes to as many plain files.
func PairWrites(b *testing.B, name string, m Model, sync bool) float64 {
	f := File(b, name, m)
	_, data := m.Plan()
	theirs := filepath.Join(b.TempDir(), "copy")
	plainly := func() error { return writeOnce(theirs, data, sync) }
	if len(f.Paths) > 1 {
		plainly = func() error { return writeEach(theirs, f.Plan, data, sync) }
	}
	return floor.PairsOf(b, writing(b, name, m, &format.WriteOptions{NoSync: !sync}), floor.Then(floor.Timed(plainly), func() error { return os.RemoveAll(theirs) })).Ratio
}

// writeOnce writes data to a new file with one write.
func writeOnce(path string, data []byte, sync bool) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil && sync {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// writeEach writes each tensor to a new file in a new directory.
func writeEach(dir string, p *format.Plan, data []byte, sync bool) error {
	err := os.Mkdir(dir, 0o777)
	for i := 0; err == nil && i < len(p.Tensors); i++ {
		size := p.Tensors[i].Size
		err = writeOnce(filepath.Join(dir, strconv.Itoa(i)), data[:size], sync)
		data = data[size:]
	}
	return err
}

// convert measures quantizing a safetensors file of 100 MB in memory, relative to copying it.
func (t *table) convert() {
	int8s, blocks := tensor.QuantizeOptions{PerChannel: true}, tensor.QuantizeOptions{Encoding: gguf.Q8_0()}
	for _, c := range []struct {
		name, to string
		o        tensor.QuantizeOptions
	}{{"int8/mobi", "mobi", int8s}, {"int8/wia", "wia", int8s}, {"q8_0/gguf", "gguf", blocks}} {
		t.most("convert/"+c.name, 1.2, func(b *testing.B) float64 {
			o := &convert.Options{To: c.to, Quantize: convert.Quantized(c.o), QuantizeOnly: func(tensor.Info) bool { return true }}
			o.NoSync = true
			return converting(b, o)
		})
	}
}

// converting measures a conversion without disk I/O.
func converting(b *testing.B, o *convert.Options) float64 {
	dir, err := os.MkdirTemp("/dev/shm", "weightmap-bench-")
	if err != nil {
		dir = b.TempDir()
	}
	defer os.RemoveAll(dir)
	from, ours, theirs := filepath.Join(dir, "from"), filepath.Join(dir, "ours"), filepath.Join(dir, "theirs")
	must(b, os.Mkdir(from, 0o777))
	in := filepath.Join(from, "in")
	_, err = Write("safetensors", in, uniform("matrices", 24, tensor.Float32, 1024, 1024), noSync)
	must(b, err)
	convert := floor.Timed(func() error {
		_, err := convert.File(in, ours, o)
		return err
	})
	copying := floor.Timed(func() error { return os.CopyFS(theirs, os.DirFS(from)) })
	remove := func() error { return errors.Join(os.RemoveAll(ours), os.RemoveAll(theirs)) }
	return floor.PairsOf(b, floor.Then(convert, remove), floor.Then(copying, remove)).Ratio
}
