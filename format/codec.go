package format

import (
	"context"
	"io"
	"os"
	"slices"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/foreign"
	"github.com/weightmap/weightmap/internal/save"
	"github.com/weightmap/weightmap/internal/source"
	"github.com/weightmap/weightmap/internal/wire"
)

// Codec is one format. Its methods open and write files of that format only. The zero Codec opens files of all
// registered formats, and writes none (ErrUnknownFormat).
type Codec struct{ d driver.Driver }

// With returns the Codec of a driver, registered or not. Format packages use it for their Open and Create.
func With(d driver.Driver) Codec { return Codec{d} }

// Name returns the name of the format, as Create takes it and errors have it: "mag".
func (c Codec) Name() string { return c.describe().Name }

// Extensions returns the usual file name extensions, such as ".mag".
func (c Codec) Extensions() []string { return slices.Clone(c.describe().Extensions) }

func (c Codec) describe() (d driver.Description) {
	if c.d != nil {
		d = c.d.Describe()
	}
	return d
}

// Detect reports whether a file of size bytes that begins with head is of this format, intact or not.
// driver.SniffLen bytes of head suffice.
func (c Codec) Detect(head []byte, size int64) bool { return c.d != nil && c.d.Detect(head, size) }

// Own returns the driver's Parsed.Own of a model of this format, nil for a model of another. Format packages
// use it for their From.
func (c Codec) Own(m *Model) any {
	if e := m.engine(); e.Format() == c.Name() {
		return e.Parsed().Own
	}
	return nil
}

// Examine calls f with a driver.Verification of m. Format packages use it for checks that Model.Verify does
// not report, such as mle.File.CheckSignature.
func (c Codec) Examine(ctx context.Context, m *Model, f func(driver.Verification) error) error {
	return m.engine().Examine(ctx, f)
}

// Driver returns the driver.
func (c Codec) Driver() driver.Driver { return c.d }

// Create is format.Create for this format.
func (c Codec) Create(path string, p *Plan, opts *WriteOptions) (*Writer, error) {
	return c.write(path, nil, p, opts)
}

// NewWriter is format.NewWriter for this format.
func (c Codec) NewWriter(w io.Writer, p *Plan, opts *WriteOptions) (*Writer, error) {
	return c.write("", w, p, opts)
}

func (c Codec) write(path string, out io.Writer, p *Plan, opts *WriteOptions) (*Writer, error) {
	if c.d == nil {
		return nil, unregistered("", `""`)
	}
	o, err := checkWriteOptions(opts, path)
	if err != nil {
		return nil, err
	}
	d, err := driver.Configure(c.d, o.Format, &o.Storage)
	if err != nil {
		return nil, wire.Explain(err, c.Name(), path)
	}
	w, err := save.New(d, out, p, o)
	if err != nil {
		return nil, err
	}
	return &Writer{w}, nil
}

// opening returns a model that is not open yet. Its driver is that of the Codec or of Options.Format, nil to
// detect the format.
func (c Codec) opening(opts *Options) (*Model, error) {
	m := &Model{}
	o, err := checkOptions(opts, &m.memory)
	if err == nil && c.d == nil && o.Format != "" {
		c, err = Lookup(o.Format)
	}
	m.opening.Options, m.opening.Driver = o, c.d
	return m, err
}

// files says how the file that is parsed is opened.
func (m *Model) files() source.Options {
	s := m.opening.Files()
	s.Parse = true
	return s
}

// Open is format.Open for files of this format only.
func (c Codec) Open(path string, opts *Options) (*Model, error) {
	m, err := c.opening(opts)
	if err != nil {
		return nil, wire.Explain(err, "", path)
	}
	err = m.file.Open(path, m.files())
	if isDir(path, err) {
		return m.openDir(path)
	}
	return m.finish(&m.file, err, path)
}

// OpenBytes is format.OpenBytes for files of this format only.
func (c Codec) OpenBytes(b []byte, opts *Options) (*Model, error) {
	m, err := c.opening(opts)
	if err != nil {
		return nil, err
	}
	return m.finish(source.FromBytes(b), nil, "")
}

// OpenReaderAt is format.OpenReaderAt for files of this format only.
func (c Codec) OpenReaderAt(r io.ReaderAt, size int64, opts *Options) (*Model, error) {
	m, err := c.opening(opts)
	if err == nil && r == nil {
		err = missing("reader")
	}
	if err != nil {
		return nil, err
	}
	if s, ok := r.(interface {
		Sibling(name string) (io.ReaderAt, int64, error)
	}); ok {
		m.opening.Sibling = func(name string) (*source.Region, error) {
			r, size, err := s.Sibling(name)
			if err != nil {
				return nil, err
			}
			return source.FromReaderAt(r, size), nil
		}
	}
	return m.finish(source.FromReaderAt(r, size), nil, "")
}

// OpenFile is format.OpenFile for files of this format only.
func (c Codec) OpenFile(f *os.File, off, size int64, opts *Options) (*Model, error) {
	m, err := c.opening(opts)
	if err == nil && f == nil {
		err = missing("file")
	}
	if err != nil {
		return nil, err
	}
	r, err := source.OpenFile(f, off, size, m.files())
	return m.finish(r, err, f.Name())
}

// missing is the error for an argument that is nil.
func missing(what string) error { return &Error{Field: what, Offset: -1, Err: os.ErrInvalid} }

// finish detects the format unless it is given, and parses.
func (m *Model) finish(r *source.Region, err error, path string) (*Model, error) {
	name := path
	if r != nil && name == "" {
		name = r.Path() // of a reader
	}
	asked := With(m.opening.Driver).Name()
	if err == nil && m.opening.Driver == nil {
		if err = r.Guard(func() error { return m.choose(r, name) }); err != nil {
			r.Close()
		}
	}
	d := m.opening.Driver
	if err != nil {
		return nil, wire.Explain(err, With(d).Name(), name)
	}
	size := r.Size()
	m.opening.Path = path
	err = m.m.Open(r, &m.opening)
	if is := other(d, m.opening.Head, size, name); is != "" {
		err = named(err, is, asked, name)
	}
	if err != nil {
		return nil, err
	}
	return m, nil
}

// choose sets the driver that the content shows.
func (m *Model) choose(r *source.Region, path string) error {
	head, err := r.Head(driver.SniffLen)
	if err != nil {
		return err
	}
	if m.opening.Driver = detect(head, r.Size(), path); m.opening.Driver == nil {
		return unknown(head, path)
	}
	return nil
}

// openDir opens the model in a directory: with the given format if that is one of directories, by
// the rule of Open if a format has one, and else with the first format of directories.
func (m *Model) openDir(path string) (_ *Model, err error) {
	asked := With(m.opening.Driver).Name()
	if _, dirs := m.opening.Driver.(driver.DirParser); !dirs && findInDirectory != nil {
		err = findInDirectory(m, path)
	} else {
		if m.opening.Driver == nil {
			m.opening.Driver = keeper("")
		}
		err = &Error{Path: path, Offset: -1, Err: ErrUnknownFormat}
		if m.opening.Driver != nil {
			m.opening.Path = path
			err = m.m.OpenDir(&m.opening, nil)
		}
	}
	if err == nil {
		return m, nil
	}
	if is := foreign.Directory(path); is != "" {
		err = named(err, is, asked, path)
	}
	return nil, wire.Explain(err, asked, path)
}

// keeper returns the first format of directories that have files of that name, or of any.
func keeper(name string) driver.Driver {
	for _, d := range drivers() {
		if _, dirs := d.(driver.DirParser); dirs && (name == "" || endsLike(d, name)) {
			return d
		}
	}
	return nil
}
