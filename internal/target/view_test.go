package target

import (
	"bytes"
	"context"
	"errors"
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
	}{
		{"large", 600 << 10, false},
		{"used", 600 << 10, true},
		{"small", 1000, false},
		{"empty", 0, false},
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
				_, isWindow := from.(*pass.Window)
				if !isFile && !isWindow {
					t.Errorf("it is read by a %T", from)
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

// places is a target, or a hash, that notes whether it gets memory of a mapping.
type places struct {
	Memory
	r            *source.Region
	isSequential bool
	isMapped     bool
}

func (p *places) Sequential() bool { return p.isSequential }

func (p *places) WriteAt(b []byte, off int64) (int, error) {
	p.isMapped = p.isMapped || p.r.Holds(memory.Address(b))
	return p.Memory.WriteAt(b, off)
}

func (p *places) Write(b []byte) (int, error) {
	p.isMapped = p.isMapped || p.r.Holds(memory.Address(b))
	return len(b), nil
}

// TestCopyToFaults: only a file gets memory that may fault. A hash in assembly cannot be unwound, nor may a writer of the
// program be interrupted.
func TestCopyToFaults(t *testing.T) {
	data := make([]byte, 700<<10)
	path := filepath.Join(t.TempDir(), "m")
	expect.OK(t, os.WriteFile(path, data, 0o666))
	for _, use := range []bool{false, true} {
		var r source.Region
		expect.OK(t, r.Open(path, source.Options{}))
		if !r.Mapped() || !r.CanForget() {
			t.Skip("files are not mapped in windows here")
		}
		if use {
			r.MarkUsed(0, int64(len(data)))
		}
		info := &tensor.Info{Name: "w", DType: tensor.Uint8, Shape: tensor.Shape{int64(len(data))}, Size: int64(len(data))}
		v := tensor.View(memory.New[tensor.Info](info, &inFile{r: &r}, r.Bytes()))
		file := &places{r: &r}
		hashed := &places{r: &r}
		hash := &places{r: &r}
		stream := &places{r: &r, isSequential: true}
		each := &places{r: &r}
		for _, copied := range []func(in *Input) error{
			func(in *Input) error { return in.CopyTo(file, 0, nil) },
			func(in *Input) error { return in.CopyTo(hashed, 0, hash) },
			func(in *Input) error { return in.CopyTo(stream, 0, nil) },
			func(in *Input) error {
				return in.Each(func(b []byte) error {
					_, err := each.Write(b)
					return err
				})
			},
		} {
			expect.OK(t, ReadView(v, func(from io.Reader) error {
				in := NewInput(t.Context(), from, int64(len(data)))
				return errors.Join(copied(in), in.Finish())
			}))
		}
		got := []bool{file.isMapped, hashed.isMapped, hash.isMapped, stream.isMapped, each.isMapped}
		expect.Equal(t, []bool{true, false, false, false, false}, got)
		expect.OK(t, r.Close())
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
