package mobi

import (
	"encoding/binary"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/mapped"
	"github.com/weightmap/weightmap/internal/sink"
)

var codec = newCodec(&WriteOptions{})

func init() { format.Register(&codec) }

// newCodec returns the codec that writes with the given options.
func newCodec(o *WriteOptions) format.Codec {
	return format.Codec{
		Name:       name,
		Extensions: []string{extension},
		Detect:     detect,
		Parse: func(r *mapped.Region, o *format.Options) (format.Model, error) {
			f, err := parse(r, o)
			if err != nil {
				return nil, err
			}
			return f, nil
		},
		Losses: func(p *format.Plan, _ *format.WriteOptions, l *format.LossList) { o.losses(p, l) },
		Encode: func(t sink.Target, p *format.Plan, common *format.WriteOptions) (format.Encoder, error) {
			return newEncoder(t, p, common, o)
		},
	}
}

// detect knows both orders of the magic.
func detect(head []byte, _ int64) bool {
	if len(head) < 4 {
		return false
	}
	m := binary.LittleEndian.Uint32(head)
	return m == magicNumber || m == magicASCII
}
