package mle

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/testhost"
	"github.com/weightmap/weightmap/tensor"
)

// TestCutWhileMapped: compressed weights that another program cuts short are
// ErrTruncated, whichever library meets the missing memory, and a later file
// reads well with the same library.
func TestCutWhileMapped(t *testing.T) {
	testhost.NeedCuts(t)
	data := make([]byte, 1<<20)
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range data {
		data[i] = byte(rng.Uint32())
	}
	plan := &format.Plan{Tensors: []tensor.Info{{Name: "w", DType: tensor.Int8, Shape: tensor.Shape{1 << 20}}}}
	for m := MethodLZ4; m <= MethodBrotli; m++ {
		t.Run(m.Name(), func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "m.mle")
			w, err := Create(path, plan, &WriteOptions{Compression: m})
			if err == nil {
				err = w.WriteTensor("w", bytes.NewReader(data))
			}
			if err == nil {
				err = w.Close()
			}
			if err != nil {
				t.Fatal(err)
			}
			file, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			f, err := Open(path, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			if err := os.Truncate(path, 1<<19); err != nil {
				t.Fatal(err)
			}
			v, _ := f.Tensor("w")
			if _, err := v.Clone(); !errors.Is(err, format.ErrTruncated) {
				t.Errorf("of a file cut while mapped: %v, want ErrTruncated", err)
			}
			whole, err := OpenBytes(file, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer whole.Close()
			if v, _ := whole.Tensor("w"); !bytes.Equal(bytesOf(t, v), data) {
				t.Error("afterwards other bytes are read")
			}
		})
	}
}

// bytesOf returns a copy of the bytes of a view.
func bytesOf(t *testing.T, v tensor.View) []byte {
	t.Helper()
	b := make([]byte, v.Info().Size)
	if _, err := v.ReadInto(b); err != nil {
		t.Fatal(err)
	}
	return b
}
