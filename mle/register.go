package mle

import (
	"bytes"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/jsonmeta"
)

// fileFormat is the driver.
type fileFormat Format

func init() {
	format.Register(Format{})
}

// Describe implements driver.Driver.
func (fileFormat) Describe() driver.Description {
	return driver.Description{
		Name:       formatName,
		Extensions: extensions,
		TakeValue:  jsonmeta.Value,
		Stores:     driver.Compresses | driver.Signs | driver.Encrypts | driver.Aligns64,
	}
}

var extensions = []string{".mle"}

// Detect implements driver.Driver.
func (fileFormat) Detect(head []byte, _ int64) bool {
	return bytes.HasPrefix(head, []byte(magic))
}

// Layout implements driver.Writer. Version 2 does not stream, since its header has
// checksums of the sections.
func (d fileFormat) Layout(p *schema.Schema, o *driver.LayoutOptions) (*driver.Layout, error) {
	c, err := d.settings(o)
	if err != nil {
		return nil, err
	}
	return &driver.Layout{
		Encode:  func(t driver.Target) (driver.Encoder, error) { return encode(t, p, c) },
		Streams: c.Version == 1,
		Ordered: c.method != MethodNone,
		Secret:  c.common.Key != nil,
	}, nil
}
