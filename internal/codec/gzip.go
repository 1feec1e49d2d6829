package codec

import (
	"bytes"
	"io"
	"sync"

	"github.com/klauspost/compress/gzip"
)

// gzipCodec is one gzip member (RFC 1952) with an empty header: no name, no
// time. Its trailer, CRC-32 and length, is always checked.
type gzipCodec struct{}

var (
	gunzippers sync.Pool     // of *gzip.Reader
	gzippers   [10]sync.Pool // of *gzip.Writer, by level
)

func (gzipCodec) Name() string { return "gzip" }

func (c gzipCodec) Compress(src []byte, level int) ([]byte, error) {
	var out bytes.Buffer
	out.Grow(len(src)/2 + 64)
	w, err := c.NewWriter(&out, level, int64(len(src)))
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(src); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

func (gzipCodec) NewWriter(w io.Writer, level int, size int64) (io.WriteCloser, error) {
	level, err := checkLevel(level)
	if err != nil {
		return nil, err
	}
	pool := &gzippers[level]
	z, ok := pool.Get().(*gzip.Writer)
	if ok {
		z.Reset(w)
	} else if z, err = gzip.NewWriterLevel(w, deflateLevel(level)); err != nil {
		return nil, err
	}
	return &counted{w: z, name: "gzip", left: size, done: func() { pool.Put(z) }}, nil
}

// deflateLevel returns the level of the deflate library that stands for ours. Its
// fast levels, up to 6, store a block in which they find no repetitions as it
// is. Weights rarely repeat, but their bytes are unevenly distributed, which
// only levels from 7 on make use of: so do ours from the default on.
func deflateLevel(level int) int {
	if level == DefaultLevel {
		return 7
	}
	return level
}

func (c gzipCodec) Decompress(src []byte, size int64) ([]byte, error) {
	if err := checkSize(size); err != nil {
		return nil, err
	}
	return c.decompress(src, size, readExact)
}

func (c gzipCodec) DecompressInto(dst, src []byte) error {
	_, err := c.decompress(src, int64(len(dst)), func(name string, r io.Reader, in *bytes.Reader, size int64) ([]byte, error) {
		return readInto(name, r, in, dst, size)
	})
	return err
}

func (c gzipCodec) DecompressMax(src []byte, limit int64) ([]byte, error) {
	if err := checkSize(limit); err != nil {
		return nil, err
	}
	return c.decompress(src, limit, readMax)
}

// decompress gives the decompressor back only when nothing went wrong: src may
// be a mapping whose fault unwinds through here.
func (gzipCodec) decompress(src []byte, size int64, how reading) ([]byte, error) {
	body, err := skipTexts(src)
	if err != nil {
		return nil, corrupt("gzip", err)
	}
	in := bytes.NewReader(body)
	var r io.Reader = in
	if len(body) < len(src) {
		r = &headed{plainHeader, in}
	}
	z, ok := gunzippers.Get().(*gzip.Reader)
	if ok {
		err = z.Reset(r)
	} else {
		z, err = gzip.NewReader(r)
	}
	if err != nil {
		return nil, corrupt("gzip", noEOF(err))
	}
	z.Multistream(false)
	out, err := how("gzip", z, in, size)
	if err != nil {
		return nil, err
	}
	gunzippers.Put(z)
	return out, nil
}
