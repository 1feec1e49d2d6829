package gguf

import (
	"bytes"
	_ "crypto/sha1" // for Verify of files that caches name by their digests
	_ "crypto/sha256"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/format/schema"
)

// Format is GGUF. It writes version 3, and has no options that other formats lack. Align of
// format.WriteOptions takes the place of the alignment in the schema's metadata.
type Format struct{}

// Driver implements format.Format.
func (Format) Driver() driver.Driver { return fileFormat{} }

// fileFormat is the driver.
type fileFormat struct{}

func init() {
	format.Register(Format{})
}

var extensions = []string{extension}

// Describe implements driver.Driver.
func (fileFormat) Describe() driver.Description {
	return driver.Description{
		Name:       formatName,
		Extensions: extensions,
		TakeValue:  takeValue,
		Stores:     driver.Aligns,
	}
}

// Detect implements driver.Driver.
func (fileFormat) Detect(head []byte, _ int64) bool { return bytes.HasPrefix(head, []byte(magic)) }

// takeValue keeps numbers of a known size, all of which GGUF has.
func takeValue(v any) any {
	switch v.(type) {
	case int, uint, uintptr:
		return schema.Number(v)
	}
	return v
}
