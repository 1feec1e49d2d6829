package all_test

import (
	"bytes"
	"path/filepath"
	"testing"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/gguf"
	"github.com/weightmap/weightmap/format/npy"
	"github.com/weightmap/weightmap/format/onnx"
	"github.com/weightmap/weightmap/format/safetensors"
	"github.com/weightmap/weightmap/format/schema"
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

// own returns a format's Open.
func own[F opened](open func(string, *format.Options) (F, error)) func(path string) (opened, error) {
	return func(path string) (opened, error) { return open(path, nil) }
}

// TestOwnFunctions: the package of each format opens its files.
func TestOwnFunctions(t *testing.T) {
	formats := map[string]func(path string) (opened, error){
		"mag": own(mag.Open), "mle": own(mle.Open), "mobi": own(mobi.Open), "tsr": own(tsr.Open), "wia": own(wia.Open),
		"gguf": own(gguf.Open), "npy": own(npy.Open), "onnx": own(onnx.Open), "safetensors": own(safetensors.Open),
	}
	for name, open := range formats {
		path := filepath.Join(t.TempDir(), "0."+name)
		info := list(tensor.Float32, "0", 2)
		expect.OK(t, create(name, path, &schema.Schema{Tensors: []tensor.Info{info}}, nil))
		m, err := open(path)
		expect.OK(t, err)
		data, err := m.At(0).Bytes()
		if err != nil || !bytes.Equal(data, fill(0, info)) || m.Format() != name {
			t.Errorf("%s: %s, % x, %v", name, m.Format(), data, err)
		}
		expect.OK(t, m.Close())
	}
}
