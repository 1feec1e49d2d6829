package gguf

import (
	"bytes"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
)

// fileFormat is the driver, with the options that only this format has.
type fileFormat struct{ opts WriteOptions }

var (
	_ driver.Sharder      = fileFormat{}
	_ driver.Lossy        = fileFormat{}
	_ driver.Configurable = fileFormat{}
)

var codec = format.With(fileFormat{})

func init() {
	format.Register(fileFormat{})
	format.FindInDirectories()
}

var extensions = []string{extension}

// Describe implements driver.Driver.
func (fileFormat) Describe() driver.Description {
	return driver.Description{Name: formatName, Extensions: extensions, TakeValue: takeValue}
}

// Detect implements driver.Driver.
func (fileFormat) Detect(head []byte, _ int64) bool { return bytes.HasPrefix(head, []byte(magic)) }

// Parse implements driver.Driver.
func (fileFormat) Parse(src driver.Source, x *driver.Index, o *driver.Options) (*driver.Parsed, error) {
	return parse(src, x, o)
}

// takeValue keeps numbers of a known size, all of which GGUF has.
func takeValue(v any) any {
	switch v.(type) {
	case int, uint, uintptr:
		return driver.Number(v)
	}
	return v
}

// Losses implements driver.Lossy.
func (fileFormat) Losses(p *driver.Plan, _ *driver.WriteOptions, l *driver.LossList) { losses(p, l) }

// Layout implements driver.Layouter.
func (d fileFormat) Layout(p *driver.Plan, _ *driver.WriteOptions) (*driver.Layout, error) {
	return layout(p, &d.opts)
}

// Configure implements driver.Configurable.
func (d fileFormat) Configure(own any, s *driver.Storage) (driver.Driver, error) {
	return d.opts.configure(own, s)
}
