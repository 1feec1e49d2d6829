package codec_test

import (
	"bufio"
	"bytes"
	"io"
	"testing"

	brotlilib "github.com/dsnet/compress/brotli"
	gziplib "github.com/klauspost/compress/gzip"
)

// bareStream is bare for the libraries that only have readers.
func bareStream(b *testing.B, name string, in []byte, size int) func() {
	if name == "gzip" {
		z, err := gziplib.NewReader(bytes.NewReader(in))
		if err != nil {
			b.Fatal(err)
		}
		return func() {
			z.Reset(bytes.NewReader(in))
			io.ReadFull(z, make([]byte, size))
		}
	}
	z, err := brotlilib.NewReader(bufio.NewReader(bytes.NewReader(in)), nil)
	if err != nil {
		b.Fatal(err)
	}
	return func() {
		z.Reset(bufio.NewReader(bytes.NewReader(in)))
		io.ReadFull(z, make([]byte, size))
	}
}
