package tsr

import (
	"bytes"

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
		Detect:     func(head []byte, _ int64) bool { return bytes.HasPrefix(head, []byte(magic)) },
		Parse: func(r *mapped.Region, _ *format.Options) (format.Model, error) {
			f, err := read(r)
			if err != nil {
				return nil, err
			}
			return f, nil
		},
		OpenDir: openDir,
		Losses:  fileLosses,
		Encode: func(t sink.Target, p *format.Plan, _ *format.WriteOptions) (format.Encoder, error) {
			return newEncoder(t, p)
		},
		Create: func(path string, p *format.Plan, common *format.WriteOptions) (format.Writer, error) {
			return create(path, p, &WriteOptions{WriteOptions: *common})
		},
	}
}
