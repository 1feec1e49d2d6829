package zip

import (
	"bytes"
	"fmt"
	"io"

	"github.com/klauspost/compress/flate"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/codec"
)

// File is a file with entries.
type File struct {
	Src   driver.Source
	Space driver.Space
	Plain bool // it is no archive: its entries have no checksums
}

// Entry locates the content of an entry of a file.
type Entry struct {
	*File
	At, Stored int64 // range in the file, perhaps compressed
	Size       int64 // of the content
	Packed     bool  // by DEFLATE
	Sum        uint32
	LocalSum   uint32 // the CRC-32 in the local header or data descriptor; Sum is that in the directory

	passed bool // Touch has verified it
}

// Compare compares the CRC-32 of the content with what the archive records.
func (e *Entry) Compare(sum uint32) error {
	for _, want := range []uint32{e.Sum, e.LocalSum} {
		if sum != want {
			return fmt.Errorf("%w: the entry has crc32 %08x, the file records %08x", driver.ErrChecksum, sum, want)
		}
	}
	return nil
}

// Content returns the content, which may alias the file.
func (e *Entry) Content() ([]byte, error) {
	b, err := e.Src.Slice(e.At, e.Stored)
	if err != nil || !e.Packed {
		return b, err
	}
	return deflate.Decompress(b, e.Size)
}

// deflate is the codec of compressed entries. It only decompresses.
var deflate = codec.Stream{
	Name: "deflate", WindowOf: func([]byte) int64 { return 64 << 10 },
	NewReader: func() (codec.Reader, error) { return &inflater{Reader: flate.NewReader(nil)}, nil },
}

// inflater is a decompressor with its input.
type inflater struct {
	io.Reader
	src bytes.Reader
}

func (z *inflater) Reset(src []byte) error {
	z.src.Reset(src)
	return z.Reader.(flate.Resetter).Reset(&z.src, nil)
}

func (z *inflater) Rest() int { return z.src.Len() }
