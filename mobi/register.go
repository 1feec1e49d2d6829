package mobi

import (
	"bytes"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/codec/gzip"
)

// fileFormat is the driver.
type fileFormat Format

func init() { format.Register(Format{}) }

var extensions = []string{extension}

// Describe implements driver.Driver. The footer is checked on first use, as the
// specification requires.
func (fileFormat) Describe() driver.Description {
	return driver.Description{
		Name:         formatName,
		Extensions:   extensions,
		CheckOnTouch: true,
		Stores:       driver.Compresses,
	}
}

// Detect implements driver.Driver. It recognizes both byte orders of the magic number.
func (fileFormat) Detect(head []byte, _ int64) bool {
	return bytes.HasPrefix(head, []byte("IBOM")) || bytes.HasPrefix(head, []byte("MOBI"))
}

// Losses implements driver.Writer.
func (d fileFormat) Losses(p *schema.Schema, o *driver.LayoutOptions, l *schema.LossList) error {
	if d.Footer > CRC32 {
		return driver.OptionError(formatName, "Footer", "no form %d", d.Footer)
	}
	if o.Compression != "" && o.Compression != gzip.Codec.Name {
		return driver.OptionError(formatName, "Compression", "%q, MOBI has gzip", o.Compression)
	}
	_, _ = newDocument(p, o, Format(d), l) // Layout returns the error
	return nil
}

// Layout implements driver.Writer. With compression, the offsets depend on which
// constants shrink.
func (d fileFormat) Layout(p *schema.Schema, o *driver.LayoutOptions) (*driver.Layout, error) {
	doc, err := newDocument(p, o, Format(d), &schema.LossList{})
	if err != nil {
		return nil, err
	}
	if o.Compression == "" {
		return doc.layout()
	}
	return &driver.Layout{Encode: doc.pack}, nil
}
