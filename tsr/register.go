package tsr

import (
	"bytes"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
)

// fileFormat is the driver, with the options that only this format has.
type fileFormat struct{ opts WriteOptions }

var codec = format.With(fileFormat{})

func init() { format.Register(fileFormat{}) }

// Describe implements driver.Driver.
func (fileFormat) Describe() driver.Description {
	return driver.Description{Name: name, Extensions: extensions, Stores: driver.Aligns64}
}

var extensions = []string{extension}

// Detect implements driver.Driver.
func (fileFormat) Detect(head []byte, _ int64) bool { return bytes.HasPrefix(head, []byte(magic)) }

// Configure implements driver.Configurable.
func (d fileFormat) Configure(own any, common *driver.WriteOptions) (driver.Driver, error) {
	o, err := driver.OwnOptions(name, own, d.opts, (*WriteOptions).common)
	return fileFormat{o}, err
}
