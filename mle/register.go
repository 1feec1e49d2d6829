package mle

import (
	"encoding/binary"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/mapped"
	"github.com/weightmap/weightmap/internal/sink"
)

var codec = format.Codec{
	Name:       formatName,
	Extensions: []string{".mle"},
	Detect: func(head []byte, _ int64) bool {
		return len(head) >= 4 && binary.LittleEndian.Uint32(head) == magic
	},
	Parse: func(r *mapped.Region, o *format.Options) (format.Model, error) {
		f, err := parse(r, o)
		if err != nil {
			return nil, err
		}
		return f, nil
	},
	Losses: func(p *format.Plan, _ *format.WriteOptions, l *format.LossList) { new(WriteOptions).losses(p, l) },
	Encode: func(t sink.Target, p *format.Plan, o *format.WriteOptions) (format.Encoder, error) {
		return encode(t, p, &WriteOptions{WriteOptions: *o})
	},
}

func init() { format.Register(&codec) }
