package codec

import (
	"bytes"
	"io"
	"testing"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/gzip"
)

// bareStream is bare for the libraries that only have readers.
func bareStream(b *testing.B, name string, in []byte, size int) func() {
	if name == "gzip" {
		z, err := gzip.NewReader(bytes.NewReader(in))
		if err != nil {
			b.Fatal(err)
		}
		return func() {
			z.Reset(bytes.NewReader(in))
			io.ReadFull(z, make([]byte, size))
		}
	}
	z := brotli.NewReader(bytes.NewReader(in))
	return func() {
		z.Reset(bytes.NewReader(in))
		io.ReadFull(z, make([]byte, size))
	}
}
