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
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/internal/floor"
	"github.com/weightmap/weightmap/tensor"
)

// write measures writing from memory without waiting for the disk, relative to plain writes of the
// bytes to as many files.
func (t *table) write() {
	for _, name := range []string{"mag", "mle", "tsr", "mobi"} {
		l := large
		if name == "tsr" {
			l = largeSingle
		}
		t.figure("write/"+name+"/100MB",
			func(b *testing.B) float64 { return t.pairWrites(b, name, l) })
		t.figure("write/"+name+"/10000",
			func(b *testing.B) float64 { return t.pairWrites(b, name, many) })
	}
	t.most("write/onnx-10000-to-mag", 3, func(b *testing.B) float64 {
		return floor.PairsOf(b, t.writing(b, "onnx", many), t.writing(b, "mag", many)).Ratio
	})
}

// writing returns a round that writes a model and removes it again: freeing a file's pages takes as
// long as writing some.
func (t *table) writing(b *testing.B, name string, m Model) floor.Round {
	path := filepath.Join(b.TempDir(), name)
	p := t.file(b, name, m).schema
	_, data := m.Schema()
	return floor.Then(floor.Timed(func() error {
		w, err := format.Create(path, p, noSync.With(expect.Must(format.ByName(name))))
		return feed(w, err, p, data)
	}), func() error { return os.RemoveAll(path) })
}

// pairWrites measures writing a model, relative to writing its bytes.
func (t *table) pairWrites(b *testing.B, name string, m Model) float64 {
	f := t.file(b, name, m)
	_, data := m.Schema()
	theirs := filepath.Join(b.TempDir(), "copy")
	plainly := func() error { return os.WriteFile(theirs, data, 0o666) }
	if len(f.paths) > 1 {
		plainly = func() error { return writeEach(theirs, f.schema, data) }
	}
	return floor.PairsOf(b, t.writing(b, name, m), floor.Then(floor.Timed(plainly), func() error { return os.RemoveAll(theirs) })).Ratio
}

// writeEach writes each tensor to a new file in a new directory.
func writeEach(dir string, p *schema.Schema, data []byte) error {
	err := os.Mkdir(dir, 0o777)
	for i := 0; err == nil && i < len(p.Tensors); i++ {
		size := p.Tensors[i].Size
		err = os.WriteFile(filepath.Join(dir, strconv.Itoa(i)), data[:size], 0o666)
		data = data[size:]
	}
	return err
}

// convert measures quantizing a safetensors file of 100 MB in memory, and writing it in another
// format, relative to copying it.
func (t *table) convert() {
	int8s := tensor.QuantizeOptions{PerChannel: true}
	blocks := tensor.QuantizeOptions{Encoding: gguf.Q8_0()}
	for _, c := range []struct {
		name, to string
		o        tensor.QuantizeOptions
	}{{"int8/mobi", "mobi", int8s}, {"int8/wia", "wia", int8s}, {"q8_0/gguf", "gguf", blocks}} {
		t.figure("convert/"+c.name, func(b *testing.B) float64 {
			o := &convert.Options{Quantize: convert.Quantized(c.o), QuantizeOnly: func(tensor.Info) bool { return true },
				Write: &format.WriteOptions{Format: expect.Must(format.ByName(c.to)), NoSync: true}}
			return converting(b, o)
		})
	}
	for _, c := range []struct {
		to    string
		limit float64
	}{{"gguf", 1.1}, {"mag", 1.5}} {
		t.most("convert/unchanged/"+c.to, c.limit, func(b *testing.B) float64 {
			o := noSync.With(expect.Must(format.ByName(c.to)))
			return converting(b, &convert.Options{Write: o})
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
	from := filepath.Join(dir, "from")
	ours := filepath.Join(dir, "ours")
	theirs := filepath.Join(dir, "theirs")
	expect.OK(b, os.Mkdir(from, 0o777))
	in := filepath.Join(from, "in")
	_, err = Write("safetensors", in, uniform("matrices", 24, 1024, 1024), noSync)
	expect.OK(b, err)
	convert := floor.Timed(func() error {
		_, err := convert.File(b.Context(), in, ours, o)
		return err
	})
	copying := floor.Timed(func() error { return os.CopyFS(theirs, os.DirFS(from)) })
	remove := func() error { return errors.Join(os.RemoveAll(ours), os.RemoveAll(theirs)) }
	return floor.PairsOf(b, floor.Then(convert, remove), floor.Then(copying, remove)).Ratio
}
