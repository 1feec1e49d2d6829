package format

import (
	"context"
	"io"
	"slices"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/format/schema"
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
	m = m.opened()
	if m.desc.Name == c.Name() {
		return m.parsed.Own
	}
	return nil
}

// Examine calls f with a driver.Verification of m. Format packages use it for checks that Model.Verify does
// not report, such as mle.File.CheckSignature.
func (c Codec) Examine(ctx context.Context, m *Model, f func(driver.Verification) error) error {
	return m.opened().examine(ctx, f)
}

// Driver returns the driver.
func (c Codec) Driver() driver.Driver { return c.d }

// Create is format.Create for this format.
func (c Codec) Create(path string, p *schema.Schema, opts *WriteOptions) (*Writer, error) {
	return c.write(path, nil, p, opts)
}

// NewWriter is format.NewWriter for this format.
func (c Codec) NewWriter(w io.Writer, p *schema.Schema, opts *WriteOptions) (*Writer, error) {
	return c.write("", w, p, opts)
}

func (c Codec) write(path string, out io.Writer, p *schema.Schema, opts *WriteOptions) (*Writer, error) {
	if c.d == nil {
		return nil, unregistered("", `""`)
	}
	o, err := checkWriteOptions(opts, path)
	if err != nil {
		return nil, err
	}
	d, err := driver.Configure(c.d, o.Format, o)
	if err != nil {
		return nil, wire.Explain(err, c.Name(), path)
	}
	return newWriter(d, out, p, o)
}
