package onnx

import (
	_ "crypto/sha1" // for Verify of files that caches name by their digests
	_ "crypto/sha256"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/format/schema"
)

// Format is ONNX. It has no options that other formats lack. ExternalFrom of format.WriteOptions
// requires a path, since a stream has no directory.
type Format struct{}

// Driver implements format.Format.
func (Format) Driver() driver.Driver { return fileFormat{} }

// fileFormat is the driver.
type fileFormat struct{}

func init() {
	format.Register(Format{})
}

// Describe implements driver.Driver.
func (fileFormat) Describe() driver.Description {
	return driver.Description{
		Name:       formatName,
		Extensions: extensions,
		Stores:     driver.MovesData | driver.Aligns64,
	}
}

// Detect implements driver.Driver.
func (fileFormat) Detect(head []byte, size int64) bool { return detect(head, size) }

// Layout implements driver.Writer.
func (fileFormat) Layout(p *schema.Schema, o *driver.LayoutOptions) (*driver.Layout, error) {
	w, err := newWriter(p, o)
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

// sums implements driver.Parsed: the format has no checksums.
func sums() []driver.Sum { return []driver.Sum{{Name: "structure"}} }
