package zip

import (
	"fmt"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/codec"
	"github.com/weightmap/weightmap/internal/codec/deflate"
	"github.com/weightmap/weightmap/tensor"
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
	LocalSum   uint32 // CRC-32 in the local header or data descriptor; Sum is that in the directory
}

// Content returns the content, which may alias the file. The caller has reserved its size in m.
func (e *Entry) Content(m *driver.Memory) ([]byte, error) {
	b, err := e.Src.Slice(e.At, e.Stored)
	if err != nil || !e.Packed {
		return b, err
	}
	return codec.Data(deflate.Codec, b, e.Size, m)
}

// Structure returns the content of an entry that is structure, of at most most bytes. It is
// reserved in m.
func (e *Entry) Structure(most int64, m *driver.Memory) ([]byte, error) {
	b, err := e.Src.Slice(e.At, e.Stored)
	if err != nil {
		return nil, err
	}
	if e.Packed {
		return codec.Section(deflate.Codec, b, e.Size, most, m)
	}
	if e.Size > most {
		return nil, fmt.Errorf("%w: %d bytes, at most %d are allowed", tensor.ErrLimit, e.Size, most)
	}
	return b, m.Reserve(e.Size)
}
