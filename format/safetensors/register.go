package safetensors

import (
	"bytes"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
)

// fileFormat is the driver.
type fileFormat struct{}

var (
	_ driver.Sharder = fileFormat{}
	_ driver.Lossy   = fileFormat{}
)

var codec = format.With(fileFormat{})

func init() {
	format.Register(fileFormat{})
	format.FindInDirectories()
}

// Describe implements driver.Driver.
func (fileFormat) Describe() driver.Description {
	return driver.Description{Name: formatName, Extensions: extensions}
}

// Detect implements driver.Driver. There is no magic: a file begins with a length and
// a JSON object, an index of shards with an object that says so.
func (fileFormat) Detect(head []byte, _ int64) bool {
	if isIndex(head) {
		first := skipBlanks(skipBlanks(head)[1:])
		return bytes.HasPrefix(first, []byte(`"metadata"`)) || bytes.Contains(head, []byte(`"weight_map"`))
	}
	return len(head) > lengthSize && beginsObject(head[lengthSize:])
}

// Parse implements driver.Driver.
func (fileFormat) Parse(src driver.Source, x *driver.Index, o *driver.Options) (*driver.Parsed, error) {
	return parse(src, x, o)
}

// Losses implements driver.Lossy.
func (fileFormat) Losses(p *driver.Plan, _ *driver.WriteOptions, l *driver.LossList) { losses(p, l) }

// Layout implements driver.Layouter.
func (fileFormat) Layout(p *driver.Plan, _ *driver.WriteOptions) (*driver.Layout, error) {
	return layout(p)
}
