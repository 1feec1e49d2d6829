package all_test

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/gguf"
	"github.com/weightmap/weightmap/format/npy"
	"github.com/weightmap/weightmap/format/onnx"
	"github.com/weightmap/weightmap/format/safetensors"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/mag"
	"github.com/weightmap/weightmap/mle"
	"github.com/weightmap/weightmap/mobi"
	"github.com/weightmap/weightmap/tensor"
	"github.com/weightmap/weightmap/tsr"
	"github.com/weightmap/weightmap/wia"
)

// opened is what every format's own functions return.
type opened interface {
	Format() string
	At(i int) tensor.View
	Close() error
}

// ways opens the file at path with the functions of a format.
func ways[F opened](
	named func(string, *format.Options) (F, error), memory func([]byte, *format.Options) (F, error),
	reader func(io.ReaderAt, int64, *format.Options) (F, error), file func(*os.File, int64, int64, *format.Options) (F, error),
) func(t *testing.T, path string) map[string]opened {
	return func(t *testing.T, path string) map[string]opened {
		b := expect.Read(t, path)
		f, err := os.Open(path)
		expect.OK(t, err)
		defer f.Close()
		found := map[string]opened{}
		for way, open := range map[string]func() (F, error){
			"Open":         func() (F, error) { return named(path, nil) },
			"OpenBytes":    func() (F, error) { return memory(b, nil) },
			"OpenReaderAt": func() (F, error) { return reader(bytes.NewReader(b), int64(len(b)), nil) },
			"OpenFile":     func() (F, error) { return file(f, 0, -1, nil) },
		} {
			m, err := open()
			expect.OK(t, err)
			found[way] = m
		}
		return found
	}
}

// TestOwnFunctions: the package of each format opens a file in every way.
func TestOwnFunctions(t *testing.T) {
	formats := map[string]func(t *testing.T, path string) map[string]opened{
		"mag":         ways(mag.Open, mag.OpenBytes, mag.OpenReaderAt, mag.OpenFile),
		"mle":         ways(mle.Open, mle.OpenBytes, mle.OpenReaderAt, mle.OpenFile),
		"mobi":        ways(mobi.Open, mobi.OpenBytes, mobi.OpenReaderAt, mobi.OpenFile),
		"tsr":         ways(tsr.Open, tsr.OpenBytes, tsr.OpenReaderAt, tsr.OpenFile),
		"wia":         ways(wia.Open, wia.OpenBytes, wia.OpenReaderAt, wia.OpenFile),
		"gguf":        ways(gguf.Open, gguf.OpenBytes, gguf.OpenReaderAt, gguf.OpenFile),
		"npy":         ways(npy.Open, npy.OpenBytes, npy.OpenReaderAt, npy.OpenFile),
		"onnx":        ways(onnx.Open, onnx.OpenBytes, onnx.OpenReaderAt, onnx.OpenFile),
		"safetensors": ways(safetensors.Open, safetensors.OpenBytes, safetensors.OpenReaderAt, safetensors.OpenFile),
	}
	for name, open := range formats {
		path := filepath.Join(t.TempDir(), "0."+name)
		info := list(tensor.Float32, "0", 2)
		expect.OK(t, create(name, path, &format.Plan{Tensors: []tensor.Info{info}}, nil))
		for way, m := range open(t, path) {
			data, err := m.At(0).Bytes()
			if err != nil || !bytes.Equal(data, fill(0, info)) || m.Format() != name {
				t.Errorf("%s.%s: %s, % x, %v", name, way, m.Format(), data, err)
			}
			expect.OK(t, m.Close())
		}
	}
}
