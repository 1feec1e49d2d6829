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

// TestReadView: the bytes of a file are read, also those that the program has used in place.
func TestReadView(t *testing.T) {
	data := make([]byte, 700<<10)
	for i := range data {
		data[i] = byte(i*7) ^ byte(i>>9)
	}
	path := filepath.Join(t.TempDir(), "m")
	expect.OK(t, os.WriteFile(path, data, 0o666))
	const off = 1000
	for _, tt := range []struct {
		name   string
		size   int
		isUsed bool
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
			if tt.isUsed {
				r.MarkUsed(off, int64(tt.size))
			}
			err := ReadView(viewOf(&r, off, tt.size), func(from io.Reader) error {
				got, err := io.ReadAll(from)
				if !bytes.Equal(got, data[off:][:tt.size]) {
					t.Errorf("%d other bytes", len(got))
				}
				return err
			})
			expect.OK(t, err)
			if !tt.isUsed && r.IsUsed(off, 600<<10) {
				t.Error("the file counts as used")
			}
		})
	}
}

// viewOf returns a view of bytes of a file.
func viewOf(r *source.Region, off int64, size int) tensor.View {
	info := &tensor.Info{
		Name: "w", DType: tensor.Uint8, Shape: tensor.Shape{int64(size)}, Offset: off, Size: int64(size),
	}
	return tensor.View(memory.New[tensor.Info](info, &inFile{r: r}, r.Bytes()[off:][:size]))
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

// TestCopyToFaults: no target or hash gets memory that may fault. A hash in assembly cannot be unwound, nor may
// a writer of the program be interrupted.
func TestCopyToFaults(t *testing.T) {
	for _, size := range []int{1000, 700 << 10} {
		path := filepath.Join(t.TempDir(), "m")
		expect.OK(t, os.WriteFile(path, make([]byte, size), 0o666))
		for _, isUsed := range []bool{false, true} {
			var r source.Region
			expect.OK(t, r.Open(path, source.Options{}))
			if !r.Mapped() {
				t.Skip("files are not mapped here")
			}
			if isUsed {
				r.MarkUsed(0, int64(size))
			}
			p := &places{r: &r}
			stream := &places{r: &r, isSequential: true}
			for _, copied := range []func(in *Input) error{
				func(in *Input) error { return in.CopyTo(p, 0, nil) },
				func(in *Input) error { return in.CopyTo(p, 0, p) },
				func(in *Input) error { return in.CopyTo(stream, 0, nil) },
				func(in *Input) error {
					return in.Each(func(b []byte) error {
						_, err := p.Write(b)
						return err
					})
				},
			} {
				expect.OK(t, ReadView(viewOf(&r, 0, size), func(from io.Reader) error {
					in := NewInput(t.Context(), from, int64(size))
					return errors.Join(copied(in), in.Finish())
				}))
			}
			if p.isMapped || stream.isMapped {
				t.Errorf("%d bytes, used %v: memory of the mapping is written or hashed", size, isUsed)
			}
			expect.OK(t, r.Close())
		}
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
