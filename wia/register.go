package wia

import (
	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/sink"
)

var wiaCodec = format.Codec{
	Name:       formatName,
	Extensions: []string{".wia"},
	Detect:     detect,
	Parse:      parse,
	Losses:     func(p *format.Plan, _ *format.WriteOptions, l *format.LossList) { new(WriteOptions).losses(p, l) },
	Encode: func(t sink.Target, p *format.Plan, o *format.WriteOptions) (format.Encoder, error) {
		return encode(t, p, &WriteOptions{WriteOptions: *o})
	},
}

func init() { format.Register(&wiaCodec) }
