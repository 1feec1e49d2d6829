package mobi

import (
	"context"
	"errors"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/codec/gzip"
	"github.com/weightmap/weightmap/internal/wire"
)

// Load implements driver.Parsed: it decompresses constant i, exactly as many
// bytes as its shape says, from one gzip member that fills the record.
func (f *parsed) Load(i int) ([]byte, error) {
	rec := &f.records[i]
	b, err := f.src.Slice(int64(rec.offset), int64(rec.stored))
	if err != nil {
		return nil, err
	}
	out, err := gzip.Codec.Decompress(b, f.index.Size(i))
	return out, rec.explain(err)
}

// checkMember does what Load does and keeps nothing.
func (f *parsed) checkMember(v driver.Verification, i int) error {
	rec := &f.records[i]
	b, err := f.src.Slice(int64(rec.offset), int64(rec.stored))
	if err != nil {
		return err
	}
	if err := gzip.Codec.Expand(canceled{v.Context()}, b, f.index.Size(i)); err != nil {
		return rec.explain(err)
	}
	v.Done(int64(rec.stored), f.index.Name(i))
	return nil
}

// canceled takes bytes until its context is done.
type canceled struct{ ctx context.Context }

func (c canceled) Write(p []byte) (int, error) { return len(p), c.ctx.Err() }

// explain names the constant in an error of the decompressor; those of the file
// say where they are from.
func (r *record) explain(err error) error {
	if errors.As(err, new(*format.Error)) || err == nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return wire.Error(name, "constant "+constantName(r.id), int64(r.offset), err)
}
