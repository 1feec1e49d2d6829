package tensor

import (
	"errors"
	"fmt"
	"syscall"

	"github.com/weightmap/weightmap/internal/fault"
)

// View is a tensor of an open model: its description and the way to its
// bytes. It is a small value, safe for concurrent use, and keeps the memory it
// points into reachable. The zero View has no data and answers ErrClosed.
//
// Bytes and As hand out raw slices of the mapping. They are valid until the
// model is closed, and no check can reach them: reading them after Close, or
// after another program cut the file short, can kill the process. Use,
// ReadInto, Clone and Decode are guarded against both.
type View struct {
	info  *Info
	owner Owner
	data  []byte // the tensor in the owner's memory; nil when it must be loaded
}

// NewView makes the view of a tensor whose bytes are data: a part of owner's
// memory, info.Size long. With nil data the owner must be a Loader. info must
// not change afterwards.
func NewView(info *Info, owner Owner, data []byte) View {
	if data == nil {
		if _, ok := owner.(Loader); !ok {
			data = []byte{} // of a tensor without bytes: there is nothing to load
		}
	}
	return View{info: info, owner: owner, data: data}
}

// FromBytes makes a view of caller's memory: little-endian data of the given
// dtype and shape, not copied. It fails with ErrShape when the sizes differ.
func FromBytes(name string, d DType, shape Shape, data []byte) (View, error) {
	size, err := shape.ByteSize(d)
	if err != nil {
		return View{}, err
	}
	if size != int64(len(data)) {
		return View{}, fmt.Errorf("%w: %v %v takes %d bytes, not %d", ErrShape, d, shape, size, len(data))
	}
	info := &Info{Name: name, DType: d, Shape: shape.Clone(), Offset: -1, Size: size, Stored: size}
	return NewView(info, heap{}, data), nil
}

// heap owns memory that the garbage collector frees.
type heap struct{}

func (heap) Enter() error             { return nil }
func (heap) Leave()                   {}
func (heap) Lend() error              { return nil }
func (heap) Origin() (string, string) { return "", "" }

// Info returns the description. Its Shape and Quant belong to the model and
// must not be changed.
func (v View) Info() Info {
	if v.info == nil {
		return Info{Offset: -1}
	}
	return *v.info
}

// Name returns the tensor's name.
func (v View) Name() string { return v.Info().Name }

// DType returns the element type.
func (v View) DType() DType { return v.Info().DType }

// Shape returns the dims. They belong to the model and must not be changed.
func (v View) Shape() Shape { return v.Info().Shape }

// Len returns the number of elements.
func (v View) Len() int64 {
	if v.info == nil || v.info.DType.Size() == 0 {
		return 0
	}
	return v.info.Size / v.info.DType.Size()
}

// ZeroCopy reports whether Bytes and As hand out the model's own memory:
// the data lie there uncompressed, aligned for the dtype, and in the byte
// order of the host.
func (v View) ZeroCopy() bool {
	return v.info != nil && v.present() && v.aligned() && (littleEndian || v.info.DType.Size() == 1)
}

// present tells whether data is all of the tensor: it need not be loaded.
func (v *View) present() bool { return v.data != nil }

// aligned tells whether data may be viewed as the dtype's elements.
func (v *View) aligned() bool {
	return len(v.data) == 0 || Address(v.data)&v.info.DType.alignMask() == 0
}

// Bytes returns the tensor's little-endian bytes, not to be written to. When
// ZeroCopy is true they alias the model's memory and are valid until it is
// closed; otherwise they are an aligned copy. ErrClosed after Close.
func (v View) Bytes() ([]byte, error) {
	if v.info == nil {
		return nil, ErrClosed
	}
	if v.present() && v.aligned() {
		if err := v.owner.Lend(); err != nil {
			return nil, v.errorf(err)
		}
		return v.data, nil
	}
	return v.load()
}

// load returns bytes that are not in memory as such, or not aligned.
func (v *View) load() ([]byte, error) {
	if l, ok := v.owner.(Loader); ok {
		if err := v.owner.Enter(); err != nil {
			return nil, v.errorf(err)
		}
		defer v.owner.Leave()
		b, err := l.Load(v.info)
		return b, v.errorf(err)
	}
	b := AlignedBytes(len(v.data))
	_, err := v.ReadInto(b)
	return b, err
}

// Use calls f with the tensor's little-endian bytes. Close waits until f
// returned, so f must not close the model itself. When the file was cut short
// meanwhile, touching the missing bytes ends f and Use returns ErrTruncated.
// The slice must not be kept.
func (v View) Use(f func([]byte) error) error {
	if v.info == nil {
		return ErrClosed
	}
	if err := v.owner.Enter(); err != nil {
		return v.errorf(err)
	}
	defer v.owner.Leave()
	b := v.data
	if !v.present() {
		var err error
		if b, err = v.owner.(Loader).Load(v.info); err != nil {
			return v.errorf(err)
		}
	}
	return v.guard(b, func() error { return f(b) })
}

// guard runs f and turns faults inside b into ErrTruncated.
func (v View) guard(b []byte, f func() error) error {
	off, err := fault.GuardRange(Address(b), len(b), f)
	if off < 0 && errors.Is(err, syscall.EFAULT) {
		off = 0 // a system call was handed bytes that are gone
	}
	if off >= 0 {
		return v.truncated(off)
	}
	return err
}

// truncated is the error for missing bytes from rel on.
func (v View) truncated(rel int) error {
	e := v.wrap(fmt.Errorf("%w: the file was cut short while it was in use", ErrTruncated))
	if e.Offset >= 0 {
		e.Offset += int64(rel)
	}
	return e
}

// ReadInto copies the tensor's little-endian bytes to dst, which must have
// room for Info().Size, and returns their number. Guarded like Use.
func (v View) ReadInto(dst []byte) (int, error) {
	if v.info == nil {
		return 0, ErrClosed
	}
	if int64(len(dst)) < v.info.Size {
		return 0, v.errorf(fmt.Errorf("%w: buffer of %d bytes for %d", ErrShape, len(dst), v.info.Size))
	}
	n := 0
	err := v.Use(func(b []byte) error {
		n = copy(dst, b)
		return nil
	})
	return n, err
}

// Clone returns a copy on the heap that outlives the model.
func (v View) Clone() (View, error) {
	var data []byte
	err := v.Use(func(b []byte) error {
		data = AlignedBytes(len(b))
		copy(data, b)
		return nil
	})
	if err != nil {
		return View{}, err
	}
	info := v.Info()
	info.Shape = info.Shape.Clone()
	info.Offset, info.Stored, info.Compression = -1, info.Size, ""
	return NewView(&info, heap{}, data), nil
}

// Digest returns the XXH64 (seed 0) of the tensor's little-endian bytes.
func (v View) Digest() (uint64, error) {
	var sum uint64
	err := v.Use(func(b []byte) error {
		sum = XXH64(b)
		return nil
	})
	return sum, err
}

// errorf names the tensor in an error that does not yet say where it is from.
func (v View) errorf(err error) error {
	var known *Error
	if err == nil {
		return nil
	}
	if !errors.As(err, &known) {
		return v.wrap(err)
	}
	if format, path := v.owner.Origin(); known.Path == "" {
		known.Format, known.Path = format, path
	}
	return err
}

func (v View) wrap(err error) *Error {
	format, path := v.owner.Origin()
	return &Error{Format: format, Path: path, Field: fmt.Sprintf("tensor %q", v.info.Name), Offset: v.info.Offset, Err: err}
}
