package tsr

import (
	"bytes"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
)

// fileFormat is the driver, with the options that only this format has.
type fileFormat struct{ opts WriteOptions }

var (
	_ driver.DirParser    = fileFormat{}
	_ driver.Layouter     = fileFormat{}
	_ driver.Lossy        = fileFormat{}
	_ driver.Configurable = fileFormat{}
)

var codec = format.With(fileFormat{})

func init() { format.Register(fileFormat{}) }

// Describe implements driver.Driver.
func (fileFormat) Describe() driver.Description {
	return driver.Description{Name: name, Extensions: extensions}
}

var extensions = []string{extension}

// Detect implements driver.Driver.
func (fileFormat) Detect(head []byte, _ int64) bool { return bytes.HasPrefix(head, []byte(magic)) }

// Parse implements driver.Driver.
func (fileFormat) Parse(src driver.Source, x *driver.Index, _ *driver.Options) (*driver.Parsed, error) {
	return result(parseFile(src, x))
}

func result(f *parsed, err error) (*driver.Parsed, error) {
	if err != nil {
		return nil, err
	}
	return &driver.Parsed{Own: f, Notes: f.notes, Verify: f.Verify}, nil
}

// ParseDir implements driver.DirParser.
func (fileFormat) ParseDir(dir driver.Dir, x *driver.Index, o *driver.Options) (*driver.Parsed, error) {
	return result(parseDir(dir, x, o))
}

// Losses implements driver.Lossy.
func (d fileFormat) Losses(p *driver.Plan, o *driver.WriteOptions, l *driver.LossList) {
	if d.wantsDir(p, o.Path) {
		dirLosses(p, l)
	} else {
		fileLosses(p, l)
	}
}

// Layout implements driver.Layouter.
func (d fileFormat) Layout(p *driver.Plan, o *driver.WriteOptions) (*driver.Layout, error) {
	return layout(p, d.wantsDir(p, o.Path)), nil
}

// Configure implements driver.Configurable.
func (d fileFormat) Configure(own any, s *driver.Storage) (driver.Driver, error) {
	o, err := driver.OwnOptions(name, own, d.opts)
	if err == nil {
		err = s.Check(name, driver.Aligns64)
	}
	return fileFormat{o}, err
}
