package modelfile

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"testing"

	"github.com/weightmap/weightmap/format"
	_ "github.com/weightmap/weightmap/format/all"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/mle"
	"github.com/weightmap/weightmap/tensor"
	"github.com/weightmap/weightmap/wia"
)

// compressed writes a model with three tensors of 4,000 bytes and an empty one, and opens it.
func compressed(t *testing.T, name string, o *format.WriteOptions) *format.Model {
	t.Helper()
	var views []tensor.View
	for i := range 3 {
		values := make([]float32, 1000)
		for k := range values {
			values[k] = float32(i*k + i)
		}
		views = append(views, expect.Must(tensor.Of(fmt.Sprint("t", i), tensor.Shape{1000}, values)))
	}
	if filepath.Ext(name) != ".mle" { // which has no empty constants
		views = append(views, expect.Must(tensor.Of("none", tensor.Shape{0}, []float32{})))
	}
	path := filepath.Join(t.TempDir(), name)
	expect.OK(t, format.Save(t.Context(), path, nil, views, o))
	m, err := format.Open(path, nil)
	expect.OK(t, err)
	t.Cleanup(func() { m.Close() })
	return m
}

// TestSequence: tensors are read from their first byte to their last, in any order, however their
// file stores them, and also after others were not read to their end.
func TestSequence(t *testing.T) {
	for _, c := range []struct {
		name string
		o    *format.WriteOptions
	}{
		{"plain.safetensors", nil},
		{"alone.wia", &format.WriteOptions{Compression: "zstd", Format: wia.Format{}}},
		{"together.mle", &format.WriteOptions{Compression: "zstd", Format: mle.Format{}}},
		{"chunks.mle", &format.WriteOptions{Compression: "lz4", Format: mle.Format{Chunked: true}}},
		{"float16.mle", &format.WriteOptions{Format: mle.Format{Lossy: mle.MethodFloat16}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := compressed(t, c.name, c.o)
			d := NewTensorReader(t.Context(), m)
			defer d.Close()
			read := func(i int, part float64) {
				t.Helper()
				v := m.At(i)
				want, err := v.Bytes()
				expect.OK(t, err)
				n := int64(part * float64(len(want)))
				s, err := d.Sequence(v)
				expect.OK(t, err)
				got, err := io.ReadAll(io.LimitReader(s, n))
				expect.OK(t, err)
				if !bytes.Equal(want[:n], got) {
					t.Errorf("tensor %d: other bytes", i)
				}
				if part == 1 {
					_, err := s.Read(make([]byte, 1))
					if err != io.EOF {
						t.Errorf("tensor %d: %v after its end", i, err)
					}
				}
				s.Close()
			}
			for i := range m.Len() { // in order, twice, as diff reads bytes and values
				read(i, 1)
				read(i, .5)
			}
			for i := m.Len() - 1; i >= 0; i-- { // more often back than it is decompressed
				read(i, 1)
			}
			read(1, .1)
			read(2, 1)
			read(0, 1)
		})
	}
}

// TestSequenceCanceled: a canceled context ends decoding.
func TestSequenceCanceled(t *testing.T) {
	m := compressed(t, "m.mle", &format.WriteOptions{Compression: "zstd", Format: mle.Format{}})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	d := NewTensorReader(ctx, m)
	defer d.Close()
	_, err := d.Sequence(m.At(0))
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
