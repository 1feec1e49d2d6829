package target

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/internal/memory"
	"github.com/weightmap/weightmap/internal/pass"
	"github.com/weightmap/weightmap/internal/source"
	"github.com/weightmap/weightmap/tensor"
)

// inFile owns a tensor of a file.
type inFile struct {
	memory.Failed[tensor.Info]
	r *source.Region
}

func (o *inFile) File(info *tensor.Info) (pass.File, int64) { return o.r, info.Offset }

func (o *inFile) Explain(_ *tensor.Info, err error) error { return err }

// TestReadView: the bytes of a mapping are read in windows until they are used in place.
func TestReadView(t *testing.T) {
	data := make([]byte, 700<<10)
	for i := range data {
		data[i] = byte(i*7) ^ byte(i>>9)
	}
	path := filepath.Join(t.TempDir(), "m")
	expect.OK(t, os.WriteFile(path, data, 0o666))
	const off = 1000
	for _, tt := range []struct {
		name string
		size int
		use  bool
		want io.Reader
	}{
		{"large", 600 << 10, false, &pass.Window{}},
		{"used", 600 << 10, true, &bytes.Reader{}},
		{"small", 1000, false, &bytes.Reader{}},
		{"empty", 0, false, &bytes.Reader{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var r source.Region
			expect.OK(t, r.Open(path, source.Options{}))
			defer r.Close()
			if !r.Mapped() {
				t.Skip("files are not mapped here")
			}
			if tt.use {
				r.MarkUsed(off, int64(tt.size))
			}
			info := &tensor.Info{Name: "w", DType: tensor.Uint8, Shape: tensor.Shape{int64(tt.size)}, Offset: off, Size: int64(tt.size)}
			v := tensor.View(memory.New[tensor.Info](info, &inFile{r: &r}, r.Bytes()[off:][:tt.size]))
			err := ReadView(v, func(from io.Reader) error {
				_, isFile := from.(*viewReader) // on systems without windows
				if fmt.Sprintf("%T", from) != fmt.Sprintf("%T", tt.want) && !isFile {
					t.Errorf("a %T, want a %T", from, tt.want)
				}
				got, err := io.ReadAll(from)
				if !bytes.Equal(got, data[off:][:tt.size]) {
					t.Errorf("%d other bytes", len(got))
				}
				return err
			})
			expect.OK(t, err)
			if !tt.use && r.IsUsed(off, 600<<10) {
				t.Error("the file counts as used")
			}
		})
	}
}

// TestEachPiece: the pieces of a view are its bytes, and do not alias a mapping.
func TestEachPiece(t *testing.T) {
	data := make([]byte, 700<<10)
	for i := range data {
		data[i] = byte(i*7) ^ byte(i>>9)
	}
	path := filepath.Join(t.TempDir(), "m")
	expect.OK(t, os.WriteFile(path, data, 0o666))
	const off = 1000
	for _, size := range []int{0, 10, 600 << 10} {
		var r source.Region
		expect.OK(t, r.Open(path, source.Options{}))
		info := &tensor.Info{Name: "w", DType: tensor.Uint8, Shape: tensor.Shape{int64(size)}, Offset: off, Size: int64(size)}
		inFile := tensor.View(memory.New[tensor.Info](info, &inFile{r: &r}, r.Bytes()[off:][:size]))
		onHeap, err := tensor.FromBytes("w", tensor.Uint8, info.Shape, data[off:][:size])
		expect.OK(t, err)
		reader, err := tensor.FromReaderAt(*info, bytes.NewReader(data[off:]))
		expect.OK(t, err)
		for name, v := range map[string]tensor.View{"file": inFile, "heap": onHeap, "reader": reader} {
			var got []byte
			err := EachPiece(t.Context(), v, func(b []byte) error {
				if r.Mapped() && r.Holds(memory.Address(b)) {
					t.Errorf("%s of %d bytes: a piece is in the mapping", name, size)
				}
				got = append(got, b...)
				return nil
			})
			if err != nil || !bytes.Equal(got, data[off:][:size]) {
				t.Errorf("%s: %d of %d bytes, %v", name, len(got), size, err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			if err := EachPiece(ctx, v, func([]byte) error { return nil }); size > 0 && !errors.Is(err, context.Canceled) {
				t.Errorf("%s, canceled: %v", name, err)
			}
		}
		expect.OK(t, r.Close())
	}
	expect.Refused(t, tensor.ErrClosed)(nil, EachPiece(t.Context(), tensor.View{}, nil))
}
