package mag

import (
	"bytes"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
)

// fileFormat is the driver, with its write options.
type fileFormat struct{ opts WriteOptions }

var codec = format.With(fileFormat{})

func init() { format.Register(fileFormat{}) }

var extensions = []string{".mag"}

// Describe implements driver.Driver.
func (d fileFormat) Describe() driver.Description {
	stores := driver.Extends
	if !d.opts.Snapshot {
		stores |= driver.Aligns64
	}
	return driver.Description{Name: formatName, Extensions: extensions, Stores: stores}
}

// Detect implements driver.Driver.
func (fileFormat) Detect(head []byte, _ int64) bool { return bytes.HasPrefix(head, []byte(magic)) }

// Configure implements driver.Configurable.
func (d fileFormat) Configure(own any, common *driver.WriteOptions) (driver.Driver, error) {
	o, err := driver.OwnOptions(formatName, own, d.opts, (*WriteOptions).common)
	if err != nil {
		return nil, err
	}
	o.Extended = o.Extended || common.Extended
	return fileFormat{o}, nil
}
