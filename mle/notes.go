package mle

import (
	"errors"
	"fmt"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/jsonmeta"
	"github.com/weightmap/weightmap/internal/wire"
)

// Metadata returns the metadata object's pairs in file order, tensor_names
// among them; nil when the file has none.
func (f *File) Metadata() format.Metadata {
	var m format.Metadata
	_ = f.use(func() (err error) {
		if f.meta != nil {
			m, err = jsonmeta.Metadata(f.meta)
		}
		return err
	})
	return m
}

// MetadataJSON returns the metadata as they stand in the file, nil when there
// are none.
func (f *File) MetadataJSON() ([]byte, error) {
	var b []byte
	err := f.use(func() error {
		b = append(b, f.meta...)
		return nil
	})
	return b, err
}

// Notes lists what is tolerated about the file. What only Verify can find out
// is among them once it has.
func (f *File) Notes() []string {
	var notes []string
	h := &f.h
	if h.Shift > 0 {
		notes = append(notes, fmt.Sprintf("sections lie %d bytes behind the offsets in the header", h.Shift))
	}
	if h.LegacySignature != 0 {
		notes = append(notes, fmt.Sprintf("version 1 signature_offset %d ignored", h.LegacySignature))
	}
	if h.Version > 1 {
		for _, s := range []struct {
			name string
			sum  uint32
		}{{"header", h.HeaderChecksum}, {"metadata", h.MetadataChecksum}, {"graph", h.GraphChecksum}, {"weights", h.WeightsChecksum}} {
			if s.sum == 0 {
				notes = append(notes, s.name+" checksum not recorded")
			}
		}
	}
	if unknown := h.Features &^ knownFeatures; unknown != 0 {
		notes = append(notes, fmt.Sprintf("unknown feature flags %#x", uint32(unknown)))
	}
	if ir, err := f.IR(); err == nil {
		if _, loose := ir.descriptorsByID(); loose {
			notes = append(notes, "the graph uses ids that no tensor descriptor has")
		}
	}
	if f.flushed.Load() {
		notes = append(notes, "the checksum of the float16 weights takes subnormal halves and -0 for 0, as the reference implementation does")
	}
	if f.Locked() {
		notes = append(notes, "weights are encrypted and no key was given")
	}
	return notes
}

// CompressionInfo is what a file says of its compression.
type CompressionInfo struct {
	Method           Method
	Level            uint8 // as recorded, 1 to 9 by the specification
	QuantizationBits uint8
	Uncompressed     int64 // bytes of the weights before compression
	Stored           int64 // and after, without encryption
	Checksum         uint32
	Chunks           int // 0 when the weights are compressed in one piece
}

// Compression returns what the compression section says, false without one. An
// encrypted file has one of MethodNone when its weights are not compressed.
func (f *File) Compression() (CompressionInfo, bool) {
	if f.comp == nil {
		return CompressionInfo{}, false
	}
	c := CompressionInfo{
		Method: f.comp.method, Level: f.comp.level, QuantizationBits: f.comp.bits,
		Uncompressed: f.comp.size, Stored: f.h.plainSize(), Checksum: f.comp.checksum,
	}
	if f.comp.chunked {
		c.Chunks = f.comp.chunks()
	}
	return c, true
}

// located names the file in an error that does not yet say which one it is.
func (f *File) located(err error) error {
	var e *format.Error
	if err == nil {
		return nil
	}
	if !errors.As(err, &e) {
		err = wire.Error(formatName, "", -1, err)
		errors.As(err, &e)
	}
	if e.Path == "" {
		_, e.Path = f.Region().Origin()
	}
	return err
}
