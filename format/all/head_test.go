package all_test

import (
	"crypto/ed25519"
	"errors"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/format/safetensors"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/tensor"
)

// TestOpenHead is ../shared/cases/anchors/headonly.go.txt: the header of a file says what is in it, and the data that are not
// there are ErrTruncated.
func TestOpenHead(t *testing.T) {
	const header = `{"__metadata__":{"k":"v"},"w":{"dtype":"F32","shape":[4],"data_offsets":[0,16]}}     `
	head := append([]byte{byte(len(header)), 0, 0, 0, 0, 0, 0, 0}, header...)
	for name, size := range map[string]int64{"unknown size": 0, "known size": int64(len(head)) + 16} {
		t.Run(name, func(t *testing.T) {
			m, err := format.OpenHead(head, size, &format.Options{Private: true})
			expect.OK(t, err)
			defer m.Close()
			expect.Equal(t, schema.Metadata{{Key: "k", Value: "v"}}, expect.Got(t, m.Metadata))
			v := m.At(0)
			expect.Equal(t, "w float32 [4] 16", v.Name()+" "+v.DType().String()+" "+v.Shape().String()+" 16")
			want := size
			if size == 0 {
				want = -1
			}
			expect.Equal(t, want, m.Stats().Files[0].Size)
			for what, use := range map[string]func() error{
				"Bytes":    func() error { _, err := v.Bytes(); return err },
				"ReadInto": func() error { _, err := v.ReadInto(make([]byte, 16)); return err },
				"Decode":   func() error { _, err := tensor.Decode[float32](nil, v); return err },
				"Verify":   func() error { _, err := m.Verify(t.Context(), nil); return err },
			} {
				if err := use(); !errors.Is(err, format.ErrTruncated) {
					t.Errorf("%s: %v", what, err)
				}
			}
		})
	}
}

// TestOpenHeadOfEach: each prefix of a file that has the whole structure opens and says what the file says, and each
// shorter one is refused.
func TestOpenHeadOfEach(t *testing.T) {
	for _, name := range []string{"safetensors", "gguf", "mag", "mle", "wia", "onnx", "mobi"} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "m."+name)
			p := &schema.Schema{Tensors: []tensor.Info{list(tensor.Float32, "1", 64, 64)}}
			source := source(t, name, p)
			expect.OK(t, convertTo(source, path, name, false))
			whole, err := os.ReadFile(path)
			expect.OK(t, err)
			opened := 0
			for n := len(whole); n >= 0; n -= 1 + len(whole)/200 {
				m, err := format.OpenHead(whole[:n], int64(len(whole)), &format.Options{Check: format.CheckStructure})
				if err != nil {
					if !errors.Is(err, format.ErrTruncated) && !errors.Is(err, format.ErrUnknownFormat) {
						t.Errorf("%d bytes: %v", n, err)
					}
					continue
				}
				opened++
				expect.Equal(t, source.At(0).Shape(), m.At(0).Shape())
				expect.OK(t, m.Close())
			}
			if opened == 0 {
				t.Error("not even the whole file opens")
			}
		})
	}
}

// TestOpenHeadRefused: what a head cannot be.
func TestOpenHeadRefused(t *testing.T) {
	lie := []byte{0, 0, 0, 6, 0, 0, 0, 0, '{', '"'} // a header of 100 MB
	for name, test := range map[string]struct {
		head []byte
		size int64
		o    format.Options
		want error
	}{
		"half a header":       {append([]byte{70, 0, 0, 0, 0, 0, 0, 0}, `{"w":{"dtype":"F32","shape"`...), 0, format.Options{}, format.ErrTruncated},
		"an untrue length":    {lie, 0, format.Options{Format: safetensors.Format{}}, format.ErrTruncated},
		"nothing":             {nil, 0, format.Options{}, format.ErrUnknownFormat},
		"a size below it":     {lie, 3, format.Options{}, format.ErrUnsupported},
		"a negative size":     {lie, math.MinInt64, format.Options{}, format.ErrUnsupported},
		"trust":               {lie, 0, format.Options{Trusted: format.TrustKey(ed25519.NewKeyFromSeed(make([]byte, 32)).Public())}, format.ErrUnsupported},
		"an unknown format":   {[]byte("no model at all, but long enough to be one"), 0, format.Options{}, format.ErrUnknownFormat},
		"beyond every format": {lie, driver.UnknownSize + 1, format.Options{Format: safetensors.Format{}}, format.ErrTruncated},
	} {
		m, err := format.OpenHead(test.head, test.size, &test.o)
		if !errors.Is(err, test.want) || m != nil {
			t.Errorf("%s: %v, want %v", name, err, test.want)
		}
	}
}
