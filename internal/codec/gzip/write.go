package gzip

import (
	"io"
	"sync"

	"github.com/klauspost/compress/gzip"
	"github.com/weightmap/weightmap/internal/codec"
)

// Compress implements codec.Codec.
func (format) Compress(src []byte, level int) ([]byte, error) {
	return codec.Compress(Codec, src, level)
}

var writers [10]sync.Pool // of *gzip.Writer, by level

// NewWriter implements codec.Streamer.
func (format) NewWriter(w io.Writer, level int, size int64) (io.WriteCloser, error) {
	level, err := codec.CheckLevel(level)
	if err != nil {
		return nil, err
	}
	pool := &writers[level]
	z, ok := pool.Get().(*gzip.Writer)
	if ok {
		z.Reset(w)
	} else if z, err = gzip.NewWriterLevel(w, deflateLevel(level)); err != nil {
		return nil, err
	}
	return codec.NewCounted(z, name, size, func() { pool.Put(z) }), nil
}

// deflateLevel returns the level of the deflate library that stands for ours. Its
// fast levels, up to 6, store a block in which they find no repetitions as it
// is. Weights rarely repeat, but their bytes are unevenly distributed, which
// only levels from 7 on make use of: so do ours from the default on.
func deflateLevel(level int) int {
	if level == codec.DefaultLevel {
		return 7
	}
	return level
}
