package onnx

import (
	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
)

// base is what the drivers of both kinds of models have in common, with the options
// that only this format has.
type base struct{ opts WriteOptions }

// fileFormat is the driver.
type fileFormat struct{ base }

var (
	_ driver.Layouter     = fileFormat{}
	_ driver.Lossy        = fileFormat{}
	_ driver.Vocabulary   = fileFormat{}
	_ driver.Configurable = fileFormat{}
)

var codec = format.With(fileFormat{})

func init() {
	format.Register(fileFormat{})
	format.FindInDirectories()
}

// Describe implements driver.Driver.
func (base) Describe() driver.Description {
	return driver.Description{Name: formatName, Extensions: extensions}
}

// Detect implements driver.Driver.
func (base) Detect(head []byte, size int64) bool { return detect(head, size) }

// Parse implements driver.Driver.
func (base) Parse(src driver.Source, x *driver.Index, o *driver.Options) (*driver.Parsed, error) {
	f, err := parse(src, x, o)
	if err != nil {
		return nil, err
	}
	return &driver.Parsed{
		Own:          f,
		Notes:        f.notes(),
		LazyMetadata: f.Metadata,
		LazyGraph:    f.Graph,
		Native:       f.Native,
		RecordAt:     f.RecordAt,
		Load:         f.Load,
		Stream:       f.Stream,
		Verify:       f.Verify,
	}, nil
}

// Losses implements driver.Lossy.
func (base) Losses(p *driver.Plan, _ *driver.WriteOptions, l *driver.LossList) { losses(p, l) }

// Layout implements driver.Layouter.
func (fileFormat) Layout(p *driver.Plan, _ *driver.WriteOptions) (*driver.Layout, error) {
	return layout(p, inside)
}

// Operators implements driver.Vocabulary: the operators are ONNX's own.
func (base) Operators() []driver.Operator { return nil }

// Configure implements driver.Configurable.
func (b base) Configure(own any, s *driver.Storage) (driver.Driver, error) {
	o, err := driver.OwnOptions(formatName, own, b.opts)
	if err == nil {
		err = s.Check(formatName, driver.CanPutOutside|driver.Aligns64)
	}
	if err != nil {
		return nil, err
	}
	if s.ExternalFrom != 0 {
		o.ExternalFrom = s.ExternalFrom
	}
	return o.driver(), nil
}
