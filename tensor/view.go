package tensor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"syscall"

	"github.com/cespare/xxhash/v2"
	"github.com/weightmap/weightmap/internal/fault"
	"github.com/weightmap/weightmap/internal/memory"
)

// View describes a tensor and gives access to its bytes. A View is a small value, safe
// for concurrent use; it keeps the memory that it refers to reachable. The methods of the
// zero View return ErrClosed.
//
// Bytes and As return raw slices of the mapping. The slices are valid until the
// model is closed: reading one after Close, or after another program cut the file
// short, can crash the process. Use, ReadInto, ReadAt, Clone and Decode are guarded
// against both.
//
// If a function returns a View with an error, all accessors of the View return that error.
type View memory.Ref[Info]

// ref returns the view as its underlying type. The unexported methods have pointer
// receivers since a View is five words to copy.
func (v *View) ref() *memory.Ref[Info] { return (*memory.Ref[Info])(v) }

// Format implements fmt.Formatter. Every verb prints the name, dtype and shape, as
// in `"conv1.weight" float32 [16, 3, 3, 3]`, and no data.
func (v View) Format(f fmt.State, _ rune) {
	info := v.ref().Info()
	if info == nil {
		fmt.Fprintf(f, "no tensor")
		return
	}
	fmt.Fprintf(f, "%q %s %v", info.Name, info.TypeName(), info.Shape)
}

// FromBytes returns a view of data, little-endian elements of the given dtype and
// shape. It does not copy data. It returns ErrShape when the sizes differ.
func FromBytes(name string, d DType, shape Shape, data []byte) (View, error) {
	return FromInfo(Info{Name: name, DType: d, Shape: shape}, data)
}

// FromInfo is like FromBytes for a tensor that may be quantized. It uses the fields
// Name, DType, Shape, Quant and Encoding of info.
func FromInfo(info Info, data []byte) (View, error) {
	size, err := info.ByteSize()
	if e := info.Encoding; e != nil && e.BlockBytes <= 0 {
		size = int64(len(data))
		err = nil // only the data tells
	}
	if err == nil && size != int64(len(data)) {
		err = fmt.Errorf("%w: %v %v takes %d bytes, not %d", ErrShape, info.TypeName(), info.Shape, size, len(data))
	}
	if err != nil {
		return refuse(&info, err)
	}
	info.Shape = info.Shape.Clone()
	info.Offset = -1
	info.Size = size
	info.Stored = size
	info.Compression = ""
	return onHeap(&info, data), nil
}

// Info returns the description of the tensor. The caller must not modify its Shape and
// Quant, which belong to the model.
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

// Shape returns the dims. The caller must not modify them; they belong to the model.
func (v View) Shape() Shape { return v.Info().Shape }

// Size returns the size of the uncompressed elements in bytes, which is how much ReadAt reads:
// io.NewSectionReader(v, 0, v.Size()) reads the whole tensor.
func (v View) Size() int64 { return v.Info().Size }

// Elems returns the number of elements.
func (v View) Elems() int64 {
	info := v.Info()
	if size := info.DType.Size(); size > 0 {
		return info.Size / size
	}
	if info.Encoding == nil {
		return 0
	}
	n, _ := info.Shape.Elems()
	return n
}

// ZeroCopy reports whether Bytes and As return existing memory (of the model, a Slice or
// a Clone) without copying. It is true if the data is in memory, uncompressed, aligned for
// the dtype, and in the byte order of the host. A file that is mapped when a tensor of it is first
// used counts as memory.
func (v View) ZeroCopy() bool {
	r := v.ref()
	if lazy := r.Lazy(); lazy != nil {
		return lazy.IsViewed(r.Info())
	}
	return viewed(r) && (memory.LittleEndian || r.Info().DType.Size() <= 1)
}

// viewed reports whether the bytes are in memory, aligned for the dtype.
func viewed(r *memory.Ref[Info]) bool {
	b := r.Data()
	return b != nil && (len(b) == 0 || memory.Address(b)%uintptr(max(r.Info().DType.wordSize(), 1)) == 0)
}

// Bytes returns the tensor's little-endian bytes. The caller must not modify them; they are
// valid until the model is closed. If ZeroCopy is true they alias the model's memory, as they
// do on a big-endian host for data that is aligned and uncompressed; otherwise they are an
// aligned copy. After Close, Bytes returns ErrClosed.
func (v View) Bytes() ([]byte, error) {
	r := v.ref()
	if viewed(r) {
		b := r.Data()
		if err := r.Owner().Expose(r.Info(), b); err != nil {
			return nil, v.explain(err)
		}
		return b, nil
	}
	if err := v.enter(); err != nil {
		return nil, err
	}
	defer r.Owner().Leave()
	b, err := r.Owner().Load(r.Info())
	return b, v.explain(err)
}

// Use calls f with the tensor's little-endian bytes, which f must not retain or
// modify. Close waits until f returns, so f must not close the model. If
// another program cuts the file short and f accesses missing bytes of any tensor
// of the model, f is stopped by a panic that Use recovers, and Use returns
// ErrTruncated with the tensor's name. Calls of Use may be nested.
//
// Use guards only the calling goroutine. A fault in a goroutine that f starts
// crashes the process unless that goroutine calls Use itself.
func (v View) Use(f func([]byte) error) error {
	r := v.ref()
	err := v.enter()
	if err != nil {
		return err
	}
	defer r.Owner().Leave()
	b := r.Data()
	if b == nil {
		b, err = r.Owner().Load(r.Info())
	} else {
		err = r.Owner().Show(b)
	}
	if err != nil {
		return v.explain(err)
	}
	return v.guard(b, func() error { return f(b) })
}

// enter keeps the memory mapped until the owner's Leave.
func (v *View) enter() error {
	r := v.ref()
	if r.Info() == nil {
		return ErrClosed
	}
	return v.explain(r.Owner().Enter(r.Info()))
}

// refusal returns the error of every access to the view, if there is one, and else err.
func (v *View) refusal(err error) error {
	if closed := v.enter(); closed != nil {
		return closed
	}
	v.ref().Owner().Leave()
	return v.explain(err)
}

// guard calls f and turns faults in the owner's memory into the owner's error. A system
// call that accesses missing bytes does not fault but returns EFAULT.
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
// room for Info().Size bytes, and returns their number. It is guarded like Use.
// From an io.ReaderAt it reads directly into dst.
func (v View) ReadInto(dst []byte) (int, error) {
	return v.ReadIntoContext(context.Background(), dst)
}

// ReadIntoContext is like ReadInto but stops with the context's error when the context is
// done. It cancels a running read of an io.ReaderAt that has a method ReadAtContext, as
// those of package format/remote have, and waits for that of any other.
func (v View) ReadIntoContext(ctx context.Context, dst []byte) (int, error) {
	size := v.Info().Size
	if int64(len(dst)) < size {
		return 0, v.explain(fmt.Errorf("%w: buffer of %d bytes for %d", ErrShape, len(dst), size))
	}
	ctx = cmp.Or(ctx, context.Background())
	err := v.access(ctx, size, func(r reading) error { return r.copy(dst[:size], 0) })
	if err != nil {
		return 0, err
	}
	return int(size), nil
}

// ReadAt implements io.ReaderAt on the tensor's little-endian bytes. It is guarded like
// Use. From an io.ReaderAt it reads only len(p) bytes.
func (v View) ReadAt(p []byte, off int64) (int, error) {
	if off < 0 {
		return 0, v.explain(fmt.Errorf("%w: read at offset %d", ErrShape, off))
	}
	var eof error
	if rest := max(0, v.Size()-off); int64(len(p)) > rest {
		p = p[:rest]
		eof = io.EOF
	}
	if len(p) == 0 {
		return 0, cmp.Or(v.refusal(nil), eof)
	}
	if err := v.access(context.Background(), int64(len(p)), func(r reading) error { return r.copy(p, off) }); err != nil {
		return 0, err
	}
	return len(p), eof
}

// Clone returns a copy of the tensor on the heap; it outlives the model.
func (v View) Clone() (View, error) {
	info := v.Info()
	info.Shape = info.Shape.Clone()
	return v.gather(&info, memory.Runs{Count: 1, Bytes: info.Size, Unit: 1})
}

// Digest returns the XXH64 (seed 0) of the tensor's little-endian bytes.
func (v View) Digest() (uint64, error) {
	var d xxhash.Digest
	d.Reset()
	err := v.whole(func(r reading) error {
		return r.pieces(0, v.Info().Size, 0, func(b []byte) error {
			_, _ = d.Write(b)
			return nil
		})
	})
	if err != nil {
		return 0, err
	}
	return d.Sum64(), nil
}

// explain adds the tensor's name to an error that has no position yet.
func (v *View) explain(err error) error {
	if err == nil || v.ref().Info() == nil {
		return err
	}
	return v.ref().Owner().Explain(v.ref().Info(), err)
}
