package source

import (
	"context"
	"io"
	"io/fs"
	"os"
)

// FromFile returns a region of an open regular file of a file system: a *File and an *os.File are
// mapped, a file that is an io.ReaderAt is read on demand, and any other, or with Options.Private
// any, is read into memory. name is the name of the file in errors. FromFile takes ownership of f,
// even when it fails.
func FromFile(f fs.File, info fs.FileInfo, name string, o Options) (*Region, error) {
	switch own := f.(type) {
	case *File:
		return own.region(&o)
	case *os.File:
		defer own.Close()
		return OpenFile(own, 0, toEnd, o)
	}
	reader, ok := f.(io.ReaderAt)
	if ok && !o.Private {
		r := FromReader(&Reader{ReaderAt: reader, Path: name, Cancel: func() { f.Close() }}, info.Size())
		r.stamp = StampOf(info)
		return r, nil
	}
	defer f.Close()
	if ok {
		r := &Region{path: name, stamp: StampOf(info)}
		err := r.readPrivate(reader, 0, info.Size(), &o, func() (Stamp, error) { return stampOfFile(f) })
		if err != nil {
			return nil, r.opened(err)
		}
		return r, nil
	}
	if o.Memory != nil {
		err := o.Memory.Reserve(info.Size())
		if err != nil {
			return nil, err
		}
	}
	b, err := io.ReadAll(io.LimitReader(cancelable{o.context(), f}, info.Size())) // which grows with what is there
	if err != nil {
		return nil, err
	}
	r := FromBytes(b)
	r.path = name
	r.stamp = StampOf(info)
	if o.Private {
		err := r.checkUnchanged(func() (Stamp, error) { return stampOfFile(f) })
		if err != nil {
			return nil, r.opened(err)
		}
	}
	return r, nil
}

// stampOfFile returns the Stamp that an open file has now.
func stampOfFile(f fs.File) (Stamp, error) {
	info, err := f.Stat()
	if err != nil {
		return Stamp{}, err
	}
	return StampOf(info), nil
}

// cancelable is a reader that ends with a context.
type cancelable struct {
	ctx context.Context
	io.Reader
}

func (c cancelable) Read(p []byte) (int, error) {
	err := c.ctx.Err()
	if err != nil {
		return 0, err
	}
	return c.Reader.Read(p)
}
