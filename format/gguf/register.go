package gguf

import (
	"bytes"
	_ "crypto/sha1" // for Verify of files that caches name by their digests
	_ "crypto/sha256"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/format/schema"
)

// fileFormat is the driver.
type fileFormat struct{ align uint32 } // for writing; 0 means what the metadata has, else 32

var codec = format.With(fileFormat{})

func init() {
	format.Register(fileFormat{})
}

var extensions = []string{extension}

// Describe implements driver.Driver.
func (fileFormat) Describe() driver.Description {
	return driver.Description{Name: formatName, Extensions: extensions, TakeValue: takeValue, Stores: driver.Aligns}
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

// Configure implements driver.Configurable.
func (d fileFormat) Configure(own any, common *driver.WriteOptions) (driver.Driver, error) {
	d, err := driver.OwnOptions(formatName, own, d, nil)
	if err == nil && common.Align != 0 {
		d.align = uint32(min(common.Align, 1<<32-1)) // no power of two
		if checkAlign(d.align) != nil {
			err = driver.OptionError(formatName, "Align", "%d, not a power of two from %d to 2^31", common.Align, minAlign)
		}
	}
	return d, err
}
