package mobi

import (
	"bytes"
	"cmp"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/format/schema"
	codecs "github.com/weightmap/weightmap/internal/codec"
	"github.com/weightmap/weightmap/internal/codec/gzip"
	"github.com/weightmap/weightmap/internal/wire"
)

// fileFormat is the driver, with its write options.
type fileFormat struct{ opts WriteOptions }

var codec = format.With(fileFormat{})

func init() { format.Register(fileFormat{}) }

var extensions = []string{extension}

// Describe implements driver.Driver. The footer is checked on first use, as the
// specification requires.
func (fileFormat) Describe() driver.Description {
	return driver.Description{Name: name, Extensions: extensions, CheckOnTouch: true, Stores: driver.Compresses}
}

// Detect implements driver.Driver. It recognizes both byte orders of the magic number.
func (fileFormat) Detect(head []byte, _ int64) bool {
	return bytes.HasPrefix(head, []byte("IBOM")) || bytes.HasPrefix(head, []byte("MOBI"))
}

// Losses implements driver.Writer.
func (d fileFormat) Losses(p *schema.Schema, common *driver.WriteOptions, l *schema.LossList) error {
	if d.opts.Footer > CRC32 {
		return wire.Refuse(name, "footer", "%w: %d", format.ErrUnsupported, d.opts.Footer)
	}
	_, err := codecs.CheckLevel(d.opts.Gzip)
	if err != nil {
		return wire.Refuse(name, "compression level", "%w", err)
	}
	_, _ = newDocument(p, common, &d.opts, l) // Layout returns the error
	return nil
}

// Layout implements driver.Writer. With compression, the offsets depend on which
// constants shrink.
func (d fileFormat) Layout(p *schema.Schema, o *driver.WriteOptions) (*driver.Layout, error) {
	doc, err := newDocument(p, o, &d.opts, &schema.LossList{})
	if err != nil {
		return nil, err
	}
	if doc.opts.Gzip == 0 {
		return doc.layout()
	}
	return &driver.Layout{Encode: doc.pack}, nil
}

// Configure implements driver.Configurable.
func (d fileFormat) Configure(own any, common *driver.WriteOptions) (driver.Driver, error) {
	o, err := driver.OwnOptions(name, own, d.opts, (*WriteOptions).common)
	if err != nil || common.Compression == "" {
		return fileFormat{o}, err
	}
	if common.Compression != gzip.Codec.Name {
		return nil, driver.OptionError(name, "Compression", "%q, MOBI has gzip", common.Compression)
	}
	o.Gzip = cmp.Or(common.Level, codecs.DefaultLevel)
	return fileFormat{o}, nil
}
