package mle

import (
	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/sink"
)

type WriteOptions struct{ format.WriteOptions }

func encode(t sink.Target, p *format.Plan, o *WriteOptions) (format.Encoder, error) {
	return nil, fail("plan", -1, format.ErrUnsupported, "this build only reads")
}
