package mag

import (
	"bytes"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
)

// fileFormat is the driver, with its write options.
type fileFormat struct{ opts WriteOptions }

var (
	_ driver.Layouter     = fileFormat{}
	_ driver.Lossy        = fileFormat{}
	_ driver.Configurable = fileFormat{}
)

var codec = format.With(fileFormat{})

func init() { format.Register(fileFormat{}) }

var extensions = []string{".mag"}

// Describe implements driver.Driver.
func (d fileFormat) Describe() driver.Description {
	return driver.Description{Name: formatName, Extensions: extensions, Storage: []string{"Extended"}, Aligns64: !d.opts.Snapshot}
}

// Detect implements driver.Driver.
func (fileFormat) Detect(head []byte, _ int64) bool { return bytes.HasPrefix(head, []byte(magic)) }

// Parse implements driver.Driver.
func (fileFormat) Parse(src driver.Source, x *driver.Index, o *driver.Options) (*driver.Parsed, error) {
	f, err := parse(src, x, o)
	if err != nil {
		return nil, err
	}
	f.Own, f.Notes, f.TensorSum, f.Verify = f, f.notes(), f.digest, f.verify
	return &f.Parsed, nil
}

// Losses implements driver.Lossy.
func (d fileFormat) Losses(p *driver.Plan, _ *driver.WriteOptions, l *driver.LossList) {
	d.opts.losses(p, l)
}

// Configure implements driver.Configurable.
func (d fileFormat) Configure(own any, s *driver.Storage) (driver.Driver, error) {
	o, err := driver.OwnOptions(formatName, own, d.opts)
	if err != nil {
		return nil, err
	}
	o.Extended = o.Extended || s.Extended
	return fileFormat{o}, nil
}
