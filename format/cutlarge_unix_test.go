//go:build linux || darwin

package format

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/internal/testhost"
	"github.com/weightmap/weightmap/tensor"
)

// TestCutLarge: of a file that was cut short, large tensors that are read by pread are ErrTruncated with the file, the tensor and
// the offset of the first missing byte; those that were used in place, and are read from the mapping, with an offset behind it.
func TestCutLarge(t *testing.T) {
	testhost.NeedCuts(t)
	const size = 1 << 20
	const left = size + size/2 + 123
	for _, use := range []bool{false, true} {
		for _, tt := range []struct {
			name string
			read func(m *Model, v tensor.View) error
		}{
			{"Verify", func(m *Model, v tensor.View) error {
				_, err := m.Verify(t.Context(), nil)
				return err
			}},
			{"Load", func(m *Model, v tensor.View) error {
				return m.Load(t.Context(), []Request{{Tensor: "b", Bytes: make([]byte, size)}}, nil)
			}},
			{"Load of neighbors", func(m *Model, v tensor.View) error {
				var list []Request
				for k := range int64(size / 8192) {
					rows := []tensor.Range{{From: k * 8192, To: k*8192 + 8000}}
					list = append(list, Request{Tensor: "b", Slice: rows, Bytes: make([]byte, 8000)})
				}
				return m.Load(t.Context(), list, nil)
			}},
			{"Stream", func(m *Model, v tensor.View) error {
				return m.Stream(t.Context(), []Request{{Tensor: "b"}}, nil, func(Piece) error { return nil })
			}},
			{"ReadInto", func(m *Model, v tensor.View) error {
				_, err := v.ReadInto(make([]byte, size))
				return err
			}},
			{"Decode", func(m *Model, v tensor.View) error {
				_, err := tensor.Decode[float32](nil, v)
				return err
			}},
			{"Digest", func(m *Model, v tensor.View) error {
				_, err := v.Digest()
				return err
			}},
			{"Clone", func(m *Model, v tensor.View) error {
				_, err := v.Clone()
				return err
			}},
		} {
			path := filepath.Join(t.TempDir(), "m.toy")
			put(t, path, make([]byte, 2*size))
			m := openToy(t, path, &toy{tensors: []driver.Tensor{u8("a", 0, size), u8("b", size, size)}})
			v, err := m.Tensor("b")
			expect.OK(t, err)
			if use {
				_, err := v.Bytes()
				expect.OK(t, err)
			}
			expect.OK(t, os.Truncate(path, left))
			err = tt.read(m, v)
			var e *tensor.Error
			if !errors.Is(err, tensor.ErrTruncated) || !errors.As(err, &e) || e.Path != path || e.Field != `tensor "b"` {
				t.Errorf("%s, used %v: %v", tt.name, use, err)
				continue
			}
			if !use && e.Offset != left || e.Offset < left || e.Offset >= 2*size {
				t.Errorf("%s, used %v: %v, want offset %#x", tt.name, use, err, int64(left))
			}
		}
	}
}

// TestStreamFaults: a driver that decodes from a file that was cut short makes Stream fail, on whatever goroutine it is.
func TestStreamFaults(t *testing.T) {
	testhost.NeedCuts(t)
	const size = 1 << 20
	path := filepath.Join(t.TempDir(), "m.toy")
	put(t, path, make([]byte, size))
	var m *Model
	d := &toy{tensors: []driver.Tensor{loaded(u8("b", 0, size))}}
	d.parsed.Load = func(int) ([]byte, error) { return nil, io.ErrUnexpectedEOF } // not called
	d.parsed.Stream = func(_ int, w io.Writer) error {
		_, err := w.Write(m.main.Bytes())
		return err
	}
	m = openToy(t, path, d)
	expect.OK(t, os.Truncate(path, 0))
	err := m.Stream(t.Context(), nil, nil, func(Piece) error { return nil })
	var e *tensor.Error
	if !errors.Is(err, tensor.ErrTruncated) || !errors.As(err, &e) || e.Path != path {
		t.Error(err)
	}
}
