package target

import (
	"bytes"
	"context"
	"errors"
	"io"
	"slices"

	"github.com/weightmap/weightmap/internal/memory"
	"github.com/weightmap/weightmap/internal/pass"
	"github.com/weightmap/weightmap/tensor"
)

// ReadView calls f with a reader of the bytes of v. Those of a file are read into memory that does not
// fault: to write them from a mapping costs more where pages are expensive to map, up to 4 times
// as much (convert/unchanged).
func ReadView(v tensor.View, f func(r io.Reader) error) error {
	ref := (*memory.Ref[tensor.Info])(&v)
	info := ref.Info()
	var file pass.File
	var off int64
	if ref.Data() != nil {
		file, off = ref.Owner().File(info)
	}
	if file == nil || file.Mapping() == nil && file.Memory() != nil {
		return v.Use(func(b []byte) error { return f(bytes.NewReader(b)) })
	}
	err := ref.Owner().Enter(info)
	if err != nil {
		return ref.Owner().Explain(info, err)
	}
	defer ref.Owner().Leave()
	r := &viewReader{ref: ref, at: pass.Range{File: file, Offset: off, Size: info.Size}}
	defer r.pass.Close()
	err = f(r)
	if r.err != nil && errors.Is(err, r.err) {
		return r.err // which names the file of v, not the one that f writes
	}
	return err
}

// fetch is the number of bytes that EachPiece reads from a reader at a time.
const fetch = 1 << 20

// EachPiece calls f with consecutive pieces of the bytes of v, in memory that does not fault. Of a
// tensor that has to be decoded, all bytes are in memory meanwhile.
func EachPiece(ctx context.Context, v tensor.View, f func(b []byte) error) error {
	ref := (*memory.Ref[tensor.Info])(&v)
	info := ref.Info()
	if info == nil {
		return tensor.ErrClosed
	}
	file, off := ref.Owner().File(info)
	if file == nil {
		return v.Use(func(b []byte) error {
			for part := range slices.Chunk(b, piece) {
				if err := ctx.Err(); err != nil {
					return err
				}
				if err := f(part); err != nil {
					return err
				}
			}
			return nil
		})
	}
	err := ref.Owner().Enter(info)
	if err != nil {
		return ref.Owner().Explain(info, err)
	}
	defer ref.Owner().Leave()
	reads := pass.Pass{Context: ctx, Fetch: fetch}
	defer reads.Close()
	err = reads.Pieces(pass.Range{File: file, Offset: off, Size: info.Size, IsPrivate: true}, f)
	if err != nil {
		return ref.Owner().Explain(info, err)
	}
	return nil
}

// viewReader reads the rest of a tensor.
type viewReader struct {
	ref  *memory.Ref[tensor.Info]
	pass pass.Pass
	at   pass.Range
	err  error // of reading
}

// Read implements io.Reader.
func (r *viewReader) Read(p []byte) (int, error) {
	if r.at.Size == 0 {
		return 0, io.EOF
	}
	p = p[:min(int64(len(p)), r.at.Size)]
	err := r.pass.Read(p, r.at, nil)
	if err != nil {
		r.err = r.ref.Owner().Explain(r.ref.Info(), err)
		return 0, r.err
	}
	r.at.Offset += int64(len(p))
	r.at.Size -= int64(len(p))
	return len(p), nil
}
