package format

import (
	"context"
	"errors"
	"io"
	"os"

	"github.com/weightmap/weightmap/internal/mapped"
)

// Open maps the model file at path and reads its structure; the format is
// detected by content. A directory is opened by the format that keeps models
// in directories. Nil options work. The formats must be registered: import
// weightmap/format/all, or the format packages wanted.
func Open(path string, opts *Options) (Model, error) {
	o := opts.WithDefaults()
	r, err := mapped.Open(path, o.mapping())
	if isDir(path, err) {
		return openDir(path, o)
	}
	return finish(nil, r, err, path, o)
}

// isDir tells whether a path could not be mapped because it is a directory. It
// is asked only after mapping failed, which spares the usual open a system call.
func isDir(path string, err error) bool {
	if !errors.Is(err, mapped.ErrNotRegular) {
		return false
	}
	st, err := os.Stat(path)
	return err == nil && st.IsDir()
}

// OpenBytes reads a model from memory, for go:embed and network buffers. The
// bytes must not change while the model is in use.
func OpenBytes(b []byte, opts *Options) (Model, error) {
	return finish(nil, mapped.FromBytes(b), nil, "", opts.WithDefaults())
}

// OpenReaderAt reads a model of size bytes through r, without mapping: object
// storage, network disks. Tensors are fetched when their bytes are asked for,
// and every time they are.
func OpenReaderAt(r io.ReaderAt, size int64, opts *Options) (Model, error) {
	return finish(nil, mapped.FromReaderAt(r, size), nil, "", opts.WithDefaults())
}

// OpenFile maps size bytes at off of an open file, such as an uncompressed
// asset in an Android package; size -1 means to the end. f may be closed
// afterwards. Offsets in the model count from off.
func OpenFile(f *os.File, off, size int64, opts *Options) (Model, error) {
	o := opts.WithDefaults()
	r, err := mapped.OpenFile(f, off, size, o.mapping())
	return finish(nil, r, err, f.Name(), o)
}

// Open is the package's Open for this format alone; the content must be its.
func (c *Codec) Open(path string, opts *Options) (Model, error) {
	o := opts.WithDefaults()
	r, err := mapped.Open(path, o.mapping())
	if c.OpenDir != nil && isDir(path, err) {
		return checked(c, path, o)(c.OpenDir(path, o))
	}
	return finish(c, r, err, path, o)
}

// OpenBytes is the package's OpenBytes for this format alone.
func (c *Codec) OpenBytes(b []byte, opts *Options) (Model, error) {
	return finish(c, mapped.FromBytes(b), nil, "", opts.WithDefaults())
}

// OpenReaderAt is the package's OpenReaderAt for this format alone.
func (c *Codec) OpenReaderAt(r io.ReaderAt, size int64, opts *Options) (Model, error) {
	return finish(c, mapped.FromReaderAt(r, size), nil, "", opts.WithDefaults())
}

// OpenFile is the package's OpenFile for this format alone.
func (c *Codec) OpenFile(f *os.File, off, size int64, opts *Options) (Model, error) {
	o := opts.WithDefaults()
	r, err := mapped.OpenFile(f, off, size, o.mapping())
	return finish(c, r, err, f.Name(), o)
}

// As returns what a Codec opened as the format's own type.
func As[T Model](m Model, err error) (T, error) {
	if err != nil {
		var none T
		return none, err
	}
	return m.(T), nil
}

// finish detects the format unless it is given, parses, and checks.
func finish(c *Codec, r *mapped.Region, err error, path string, o *Options) (Model, error) {
	if err != nil {
		return nil, named(err, codecName(c), path)
	}
	var m Model
	err = r.Guard(func() (err error) {
		if c == nil {
			if c, err = choose(r, path, o); err != nil {
				return err
			}
		}
		r.SetOrigin(c.Name, path)
		m, err = c.Parse(r, o)
		return err
	})
	if err != nil {
		r.Close()
		return nil, named(err, codecName(c), path)
	}
	return checked(c, path, o)(m, nil)
}

func codecName(c *Codec) string {
	if c == nil {
		return ""
	}
	return c.Name
}

// choose returns the codec that the options force or the content shows.
func choose(r *mapped.Region, path string, o *Options) (*Codec, error) {
	if o.Format != "" {
		return Lookup(o.Format)
	}
	head, err := r.Prefix(SniffLen)
	if err != nil {
		return nil, err
	}
	return detect(head, r.Size(), path)
}

// checked completes an open: errors are named, and CheckAll verifies.
func checked(c *Codec, path string, o *Options) func(Model, error) (Model, error) {
	return func(m Model, err error) (Model, error) {
		if err == nil && o.Check == CheckAll {
			if err = m.Verify(context.Background()); err != nil {
				m.Close()
			}
		}
		if err != nil {
			return nil, named(err, c.Name, path)
		}
		return m, nil
	}
}

// openDir lets the first format that knows directories have it.
func openDir(path string, o *Options) (Model, error) {
	for _, c := range codecs() {
		if c.OpenDir != nil && (o.Format == "" || o.Format == c.Name) {
			return checked(c, path, o)(c.OpenDir(path, o))
		}
	}
	return nil, &Error{Path: path, Offset: -1, Err: ErrUnknownFormat}
}
