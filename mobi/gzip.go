package mobi

import (
	"github.com/weightmap/weightmap/internal/codec/gzip"
	"github.com/weightmap/weightmap/internal/wire"
)

// inflate decompresses constant i: exactly as many bytes as its shape says, from
// one gzip member that fills the record.
func (f *File) inflate(i int) ([]byte, error) {
	rec := &f.records[i]
	b, err := f.Region().Slice(int64(rec.offset), int64(rec.stored))
	if err != nil {
		return nil, err
	}
	out, err := gzip.Codec.Decompress(b, f.Info(i).Size)
	if err != nil {
		return nil, wire.Error(name, "constant "+constantName(rec.id), int64(rec.offset), err)
	}
	return out, nil
}
