package bench

import (
	"testing"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/tensor"
)

// WholeFile maps a file and returns it as one tensor of bytes.
func WholeFile(b *testing.B, path string) tensor.View {
	b.Helper()
	f, err := format.With(bare{}).Open(path, nil)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { f.Close() })
	return f.At(0)
}

// bare is a format whose files hold one tensor of bytes.
type bare struct{}

func (bare) Describe() driver.Description { return driver.Description{Name: "bare"} }

func (bare) Detect([]byte, int64) bool { return true }

func (bare) Parse(src driver.Source, x *driver.Index, _ *driver.Options) (*driver.Parsed, error) {
	n := src.Size()
	x.Add(&driver.Tensor{Name: []byte("bytes"), DType: tensor.Uint8, Shape: tensor.Shape{n}, Size: n})
	return nil, nil
}
