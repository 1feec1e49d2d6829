package tensor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"syscall"

	"github.com/cespare/xxhash/v2"
	"github.com/weightmap/weightmap/internal/fault"
	"github.com/weightmap/weightmap/internal/memory"
)

// View is a tensor of an open model: its description and the way to its
// bytes. It is a small value, safe for concurrent use, and keeps the memory it
// points into reachable. The zero View has no data and answers ErrClosed.
//
// Bytes and As hand out raw slices of the mapping. They are valid until the
// model is closed, and no check can reach them: reading them after Close, or
// after another program cut the file short, can kill the process. Use,
// ReadInto, ReadAt, Clone and Decode are guarded against both.
//
// A view that came with an error repeats that error from all its accessors.
type View memory.Ref[Info]

// ref is what the view is underneath. The unexported methods of views have pointer
// receivers because five words are copied for each call otherwise.
func (v *View) ref() *memory.Ref[Info] { return (*memory.Ref[Info])(v) }

// Format implements fmt.Formatter: every verb prints name, dtype and shape, as
// in `"conv1.weight" float32 [16, 3, 3, 3]`, and no data.
func (v View) Format(f fmt.State, _ rune) {
	info := v.ref().Info()
	if info == nil {
		fmt.Fprintf(f, "no tensor")
		return
	}
	fmt.Fprintf(f, "%q %s %v", info.Name, info.TypeName(), info.Shape)
}

// FromBytes makes a view of the caller's memory: little-endian data of the given
// dtype and shape, not copied. It fails with ErrShape when the sizes differ.
func FromBytes(name string, d DType, shape Shape, data []byte) (View, error) {
	return FromInfo(Info{Name: name, DType: d, Shape: shape}, data)
}

// FromInfo is FromBytes for a tensor that may be quantized. Of its description,
// Name, DType, Shape and Quant count.
func FromInfo(info Info, data []byte) (View, error) {
	size, err := info.ByteSize()
	if e := info.Encoding; e != nil && e.BlockBytes <= 0 {
		size, err = int64(len(data)), nil // which only the data says
	}
	if err == nil && size != int64(len(data)) {
		err = fmt.Errorf("%w: %v %v takes %d bytes, not %d", ErrShape, info.TypeName(), info.Shape, size, len(data))
	}
	if err != nil {
		return refuse(&info, err)
	}
	c := &Info{Name: info.Name, DType: info.DType, Shape: info.Shape.Clone(), Offset: -1, Size: size, Stored: size, Quant: info.Quant, Encoding: info.Encoding}
	return onHeap(c, data), nil
}

// Info returns the description. Its Shape and Quant belong to the model and
// must not be changed.
func (v View) Info() Info {
	if info := v.ref().Info(); info != nil {
		return *info
	}
	return Info{Offset: -1}
}

// Name returns the tensor's name.
func (v View) Name() string { return v.Info().Name }

// DType returns the element type.
func (v View) DType() DType { return v.Info().DType }

// Shape returns the dims. They belong to the model and must not be changed.
func (v View) Shape() Shape { return v.Info().Shape }

// Len returns the number of elements.
func (v View) Len() int64 {
	info := v.ref().Info()
	if info == nil {
		return 0
	}
	if info.Encoding != nil {
		n, _ := info.Shape.Elems()
		return n
	}
	if info.DType.Size() == 0 {
		return 0
	}
	return info.Size / info.DType.Size()
}

// ZeroCopy reports whether Bytes and As return existing memory without copying, the model's
// or that of a Slice or Clone: the data is uncompressed, aligned for the dtype, and
// in the byte order of the host.
func (v View) ZeroCopy() bool {
	r := v.ref()
	return r.Info() != nil && viewed(r) && (memory.LittleEndian || r.Info().DType.Size() <= 1)
}

// viewed tells whether the bytes are in memory, aligned for the dtype.
func viewed(r *memory.Ref[Info]) bool {
	return r.Data() != nil && isAligned(r.Data(), r.Info().DType)
}

// isAligned tells whether b may be viewed as elements of d.
func isAligned(b []byte, d DType) bool {
	return len(b) == 0 || memory.Address(b)&d.alignMask() == 0
}

// Bytes returns the tensor's little-endian bytes, not to be written to and valid
// until the model is closed. When ZeroCopy is true they alias the model's memory,
// and so they do on a big-endian host, where As cannot; otherwise they are an
// aligned copy. ErrClosed after Close.
func (v View) Bytes() ([]byte, error) {
	r := v.ref()
	if r.Info() == nil {
		return nil, ErrClosed
	}
	if viewed(r) {
		if err := r.Owner().Lend(r.Info()); err != nil {
			return nil, v.explain(err)
		}
		return r.Data(), nil
	}
	if err := v.enter(); err != nil {
		return nil, err
	}
	defer r.Owner().Leave()
	b, err := r.Owner().Load(r.Info())
	return b, v.explain(err)
}

// Use calls f with the tensor's little-endian bytes, which must not be kept or
// written to. Close waits until f returned, so f must not close the model
// itself. When the file was cut short meanwhile, touching missing bytes of this
// tensor or of any other of the same model ends f, and Use returns
// ErrTruncated, which names the tensor. Calls of Use nest.
//
// The guard is that of the calling goroutine: one that f starts is not covered,
// and a fault in it ends the process unless it calls Use itself.
func (v View) Use(f func([]byte) error) error {
	r := v.ref()
	if r.Info() == nil {
		return ErrClosed
	}
	if err := v.enter(); err != nil {
		return err
	}
	defer r.Owner().Leave()
	b := r.Data()
	if b == nil {
		var err error
		if b, err = r.Owner().Load(r.Info()); err != nil {
			return v.explain(err)
		}
	}
	return v.guard(b, func() error { return f(b) })
}

// enter holds the memory until Leave of the owner.
func (v *View) enter() error {
	r := v.ref()
	if err := r.Owner().Enter(r.Info()); err != nil {
		return v.explain(err)
	}
	return nil
}

// refusal returns err, or why nothing can be done with the view in any case.
func (v *View) refusal(err error) error {
	if closed := v.enter(); closed != nil {
		return closed
	}
	v.ref().Owner().Leave()
	return v.explain(err)
}

// guard runs f and turns faults in the owner's memory into its error. A system
// call that is handed missing bytes returns EFAULT instead of faulting.
func (v *View) guard(b []byte, f func() error) error {
	o := v.ref().Owner()
	addr, err := fault.Guard(o.Holds, f)
	if addr == 0 && err != nil && errors.Is(err, syscall.EFAULT) && o.Holds(memory.Address(b)) {
		addr = memory.Address(b)
	}
	if addr != 0 {
		return o.Fault(addr)
	}
	return err
}

// ReadInto copies the tensor's little-endian bytes to dst, which must have
// room for Info().Size, and returns their number. Guarded like Use. Behind an
// io.ReaderAt it reads straight into dst.
func (v View) ReadInto(dst []byte) (int, error) {
	return v.ReadIntoContext(context.Background(), dst)
}

// How much ReadIntoContext copies, or reads from behind an io.ReaderAt, between two looks at its
// context. A reader of what is far away takes much at a time.
const (
	copyStep = 4 << 20
	readStep = 32 << 20
)

// ReadIntoContext is ReadInto that stops with the context's error once that is
// done. A read of an io.ReaderAt that is running is ended if that has a method
// ReadAtContext, as those of package format/remote have, and else waited for.
func (v View) ReadIntoContext(ctx context.Context, dst []byte) (int, error) {
	info := v.ref().Info()
	if info == nil {
		return 0, ErrClosed
	}
	if int64(len(dst)) < info.Size {
		return 0, v.explain(fmt.Errorf("%w: buffer of %d bytes for %d", ErrShape, len(dst), info.Size))
	}
	if ctx == nil {
		ctx = context.Background()
	}
	n, most := 0, copyStep
	if r := v.ref(); r.Data() == nil && r.Owner().Ranged(info) {
		most = readStep
	}
	err := v.access(ctx, func(read func(p []byte, off int64) error) error {
		for n < int(info.Size) {
			if err := ctx.Err(); err != nil {
				return err
			}
			step := min(int(info.Size)-n, most)
			if err := read(dst[n:n+step], int64(n)); err != nil {
				return err
			}
			n += step
		}
		return ctx.Err()
	})
	return n, err
}

// ReadAt implements io.ReaderAt on the tensor's little-endian bytes. Guarded like
// Use. Behind an io.ReaderAt it reads only len(p) bytes.
func (v View) ReadAt(p []byte, off int64) (int, error) {
	info := v.ref().Info()
	if info == nil {
		return 0, ErrClosed
	}
	if off < 0 {
		return 0, v.explain(fmt.Errorf("%w: read at offset %d", ErrShape, off))
	}
	var eof error
	if rest := max(0, info.Size-off); int64(len(p)) > rest {
		p, eof = p[:rest], io.EOF
	}
	if len(p) == 0 {
		if err := v.enter(); err != nil {
			return 0, err
		}
		v.ref().Owner().Leave()
		return 0, eof
	}
	err := v.access(context.Background(), func(read func(p []byte, off int64) error) error { return read(p, off) })
	if err != nil {
		return 0, err
	}
	return len(p), eof
}

// access calls f with a way to read parts of the tensor: from its bytes, or
// from where they are when parts are to be had for less than the whole.
func (v View) access(ctx context.Context, f func(read func(p []byte, off int64) error) error) error {
	r := v.ref()
	if r.Data() != nil || !r.Owner().Ranged(r.Info()) {
		return v.Use(func(b []byte) error {
			from := v.pager(b)
			return f(func(p []byte, off int64) error {
				from.copy(p, int(off))
				return nil
			})
		})
	}
	if err := v.enter(); err != nil {
		return err
	}
	defer r.Owner().Leave()
	return v.explain(f(func(p []byte, off int64) error { return r.Owner().ReadAt(ctx, r.Info(), p, off) }))
}

// Clone returns a copy on the heap that outlives the model.
func (v View) Clone() (View, error) {
	var data []byte
	err := v.Use(func(b []byte) error {
		data = memory.Aligned(len(b))
		from := v.pager(b)
		from.copy(data, 0)
		return nil
	})
	if err != nil {
		return v.failed(err)
	}
	info := v.Info()
	info.Shape = info.Shape.Clone()
	info.Offset, info.Stored, info.Compression = -1, info.Size, ""
	return onHeap(&info, data), nil
}

// Digest returns the XXH64 (seed 0) of the tensor's little-endian bytes.
func (v View) Digest() (uint64, error) {
	var d xxhash.Digest
	d.Reset()
	err := v.Use(func(b []byte) error {
		from := v.pager(b)
		for off := 0; off < len(b); off += memory.PopulateStep {
			n := min(len(b)-off, memory.PopulateStep)
			from.need(off, n)
			_, _ = d.Write(b[off : off+n])
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	return d.Sum64(), nil
}

// explain names the tensor in an error that does not yet say where it is from.
func (v *View) explain(err error) error {
	if err == nil {
		return nil
	}
	return v.ref().Owner().Explain(v.ref().Info(), err)
}
