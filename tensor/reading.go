package tensor

import (
	"context"
	"sync"

	"github.com/weightmap/weightmap/internal/memory"
	"github.com/weightmap/weightmap/internal/pass"
)

// reading is one use of the bytes of a tensor: those that the owner has loaded, or those of a range
// of a file.
type reading struct {
	ctx  context.Context
	info *Info
	data []byte // if file is nil
	file pass.File
	off  int64      // of the tensor in the file
	pass *pass.Pass // nil if little memory of the file is used
}

var passes = sync.Pool{New: func() any { return new(pass.Pass) }}

// access calls f with a reading of size bytes of the tensor, of its file if there is one, or else
// of its loaded bytes.
func (v View) access(ctx context.Context, size int64, f func(reading) error) error {
	r := v.ref()
	if r.Info() == nil {
		return ErrClosed
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	file, off := r.Owner().File(r.Info())
	if file == nil {
		return v.load(ctx, f)
	}
	if err := v.enter(); err != nil {
		return err
	}
	defer r.Owner().Leave()
	all := reading{ctx: ctx, info: r.Info(), file: file, off: off}
	if size >= pass.Small || file.Memory() == nil {
		all.pass = passes.Get().(*pass.Pass)
		defer passes.Put(all.pass)
		all.pass.Context = ctx
		defer all.pass.Close()
	}
	return v.explain(v.guard(r.Data(), func() error { return f(all) }))
}

// load calls f with a reading of the loaded bytes.
func (v View) load(ctx context.Context, f func(reading) error) error {
	return v.Use(func(b []byte) error { return f(reading{ctx: ctx, info: v.ref().Info(), data: b}) })
}

// whole is access for an f that uses all bytes: those that are not in memory are loaded, and kept
// if their owner caches them.
func (v View) whole(f func(reading) error) error {
	if v.ref().Data() == nil {
		return v.load(context.Background(), f)
	}
	return v.access(context.Background(), v.ref().Info().Size, f)
}

// pieces calls f with consecutive pieces of the bytes at off. A piece is valid until f returns.
// unit divides the sizes of all pieces but the last.
func (r *reading) pieces(off, size, unit int64, f func(b []byte) error) error {
	if r.file == nil {
		return f(r.data[off : off+size])
	}
	if r.pass == nil {
		return f(r.file.Memory()[r.off+off:][:size])
	}
	return r.pass.Pieces(pass.Range{File: r.file, Offset: r.off + off, Size: size, Unit: unit}, f)
}

// copy copies the bytes at off to dst.
func (r *reading) copy(dst []byte, off int64) error {
	if r.file == nil {
		copy(dst, r.data[off:])
		return r.ctx.Err()
	}
	if len(dst) < pass.Small {
		if b := r.file.Memory(); b != nil {
			copy(dst, b[r.off+off:])
			return r.ctx.Err()
		}
	}
	return r.pass.Read(dst, pass.Range{File: r.file, Offset: r.off + off}, nil)
}

// spanOf returns where the first of some runs begins, and the number of bytes up to the end of the
// last one.
func spanOf(runs *memory.Runs) (first, size int64) {
	if runs.Count == 0 {
		return 0, 0
	}
	first = runs.At(0)
	return first, runs.At(runs.Count-1) + runs.Bytes - first
}

// gather copies runs of bytes to dst, one after the other.
func (r *reading) gather(dst []byte, runs *memory.Runs) error {
	first, size := spanOf(runs)
	if size == 0 {
		return nil
	}
	isDense := size/denseGaps <= int64(len(dst))
	if r.file == nil || isDense && r.file.Memory() != nil {
		return r.gatherPieces(dst, runs, first, size)
	}
	for k := range runs.Count {
		err := r.copy(dst[k*runs.Bytes:][:runs.Bytes], runs.At(k))
		if err != nil {
			return err
		}
	}
	return nil
}

// denseGaps is the number of bytes that are read for each byte that is copied, from which runs are
// read one by one.
const denseGaps = 4

// gatherPieces is gather for runs that are read together with what is between them, size bytes from
// first on.
func (r *reading) gatherPieces(dst []byte, runs *memory.Runs, first, size int64) error {
	at := first // of the piece
	k := int64(0)
	done := int64(0) // of run k
	return r.pieces(first, size, 0, func(b []byte) error {
		for k < runs.Count {
			from := runs.At(k) + done - at
			if from >= int64(len(b)) {
				break
			}
			n := copy(dst[k*runs.Bytes+done:(k+1)*runs.Bytes], b[from:])
			done += int64(n)
			if done < runs.Bytes {
				break
			}
			k++
			done = 0
		}
		at += int64(len(b))
		return nil
	})
}
