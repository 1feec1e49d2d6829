package onnx

import (
	"cmp"
	_ "crypto/sha1" // for Verify of files that caches name by their digests
	_ "crypto/sha256"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/format/schema"
)

// fileFormat is the driver, with the options that only this format has.
type fileFormat struct{ opts WriteOptions }

var codec = format.With(fileFormat{})

func init() {
	format.Register(fileFormat{})
}

// Describe implements driver.Driver.
func (fileFormat) Describe() driver.Description {
	return driver.Description{Name: formatName, Extensions: extensions, Stores: driver.MovesData | driver.Aligns64}
}

// Detect implements driver.Driver.
func (fileFormat) Detect(head []byte, size int64) bool { return detect(head, size) }

// Layout implements driver.Writer.
func (d fileFormat) Layout(p *schema.Schema, o *driver.WriteOptions) (*driver.Layout, error) {
	w, err := newWriter(p, o, &d.opts)
	if err != nil {
		return nil, err
	}
	if w.ext == nil || w.ext.Size == 0 {
		w.layout.External = w.ext
		return &w.layout, nil
	}
	start := func(t driver.Target) (driver.Encoder, error) {
		w.t = t
		return w, nil
	}
	return &driver.Layout{Encode: start, External: w.ext}, nil
}

// Operators implements driver.Vocabulary: the operators are ONNX's own.
func (fileFormat) Operators() []driver.Operator { return nil }

// Configure implements driver.Configurable.
func (d fileFormat) Configure(own any, common *driver.WriteOptions) (driver.Driver, error) {
	o, err := driver.OwnOptions(formatName, own, d.opts, (*WriteOptions).common)
	if err != nil {
		return nil, err
	}
	o.ExternalFrom = cmp.Or(common.ExternalFrom, o.ExternalFrom)
	return fileFormat{o}, nil
}

// sums implements driver.Parsed: the format has no checksums.
func sums() []driver.Sum { return []driver.Sum{{Name: "structure"}} }
