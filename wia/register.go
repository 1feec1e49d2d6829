package wia

import (
	"encoding/binary"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
)

// fileFormat is the driver, with the options that only this format has.
type fileFormat struct {
	opts WriteOptions
	from *original // what Rewrite carries over
}

var (
	_ driver.Encoding  = fileFormat{}
	_ driver.Streaming = fileFormat{}
	_ driver.Lossy     = fileFormat{}
)

var wiaCodec = format.With(fileFormat{})

func init() { format.Register(fileFormat{}) }

var extensions = []string{".wia"}

// Describe implements driver.Driver.
func (fileFormat) Describe() driver.Description {
	return driver.Description{Name: formatName, Extensions: extensions}
}

// Detect implements driver.Driver.
func (fileFormat) Detect(head []byte, _ int64) bool {
	return len(head) >= 4 && isMagic(binary.LittleEndian.Uint32(head))
}

// Parse implements driver.Driver.
func (fileFormat) Parse(src driver.Source, x *driver.Index, o *driver.Options) (driver.File, error) {
	return parse(src, x, o)
}

// Losses implements driver.Lossy. Rewrite keeps messages as they are, so there is
// nothing to lose.
func (d fileFormat) Losses(p *driver.Plan, _ *driver.WriteOptions, l *driver.LossList) {
	d.losses(p, l)
}

// Encode implements driver.Encoding.
func (d fileFormat) Encode(t driver.Target, p *driver.Plan, o *driver.WriteOptions) (driver.Encoder, error) {
	return encode(t, p, o, &d)
}

// Streams implements driver.Streaming: an encrypted tensor block is assembled in
// memory, and in others no size may depend on data.
func (d fileFormat) Streams(p *driver.Plan, _ *driver.WriteOptions) bool {
	if len(d.opts.Key) > 0 || d.opts.CompressTensor == nil {
		return true
	}
	for i := range p.Tensors {
		if d.opts.CompressTensor(p.Tensors[i]) != None {
			return false
		}
	}
	return true
}

// Operators implements driver.Vocabulary: the operators are ONNX's own.
func (fileFormat) Operators() []driver.Operator { return nil }
