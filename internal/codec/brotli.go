package codec

import (
	"bytes"
	"io"
	"sync"

	"github.com/andybalholm/brotli"
)

// brotliCodec is a raw brotli stream (RFC 7932), which has no checksum.
type brotliCodec struct{}

// brotliQuality maps levels. Qualities 0 and 1 are left out: their output
// depends on how the input is cut into writes.
var brotliQuality = [10]int{1: 2, 2: 3, 3: 4, 4: 5, 5: 6, 6: 7, 7: 8, 8: 9, 9: 11}

var unbrotlis sync.Pool // of *brotli.Reader

func (brotliCodec) Name() string { return "brotli" }

func (c brotliCodec) Compress(src []byte, level int) ([]byte, error) {
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

func (brotliCodec) NewWriter(w io.Writer, level int, size int64) (io.WriteCloser, error) {
	level, err := checkLevel(level)
	if err != nil {
		return nil, err
	}
	z := brotli.NewWriterLevel(w, brotliQuality[level])
	return &counted{w: z, name: "brotli", left: size}, nil
}

func (c brotliCodec) Decompress(src []byte, size int64) ([]byte, error) {
	if err := checkSize(size); err != nil {
		return nil, err
	}
	return c.decompress(src, size, readExact)
}

func (c brotliCodec) DecompressInto(dst, src []byte) error {
	_, err := c.decompress(src, int64(len(dst)), func(name string, r io.Reader, in *bytes.Reader, size int64) ([]byte, error) {
		return readInto(name, r, in, dst, size)
	})
	return err
}

func (c brotliCodec) DecompressMax(src []byte, limit int64) ([]byte, error) {
	if err := checkSize(limit); err != nil {
		return nil, err
	}
	return c.decompress(src, limit, readMax)
}

func (brotliCodec) decompress(src []byte, size int64, how reading) ([]byte, error) {
	in := bytes.NewReader(src)
	z, ok := unbrotlis.Get().(*brotli.Reader)
	if ok {
		_ = z.Reset(in) // never fails
	} else {
		z = brotli.NewReader(in)
	}
	out, err := how("brotli", z, in, size)
	if err != nil {
		return nil, err
	}
	unbrotlis.Put(z)
	return out, nil
}
