package wia

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"
	"strings"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/external"
)

// externalFormat says which files the models of this format name. Encrypted ones must
// have the key of the one that is written.
func (w *encoder) externalFormat() external.Format {
	return external.Format{Codec: wiaCodec, Options: &format.Options{Key: w.o.Key}, Locations: func(f any) []string {
		return slices.Collect(maps.Keys(f.(*parsed).spaces))
	}}
}

// reserve gives a tensor its range of the file. The checksum has its final
// length from the start, so that records have theirs.
func reserve(x *external.File, size int64) *ExternalData {
	off := x.Reserve(size, alignment)
	return &ExternalData{Location: x.Location, Offset: off, Length: size, Checksum: checksumPrefix + strings.Repeat("0", 2*sha256.Size)}
}

// writeExternal stores a tensor and completes its record.
func writeExternal(x *external.File, e *ExternalData, in driver.Input) error {
	h := sha256.New()
	if err := x.Write(e.Offset, in, h); err != nil {
		return err
	}
	e.Checksum = checksumPrefix + hex.EncodeToString(h.Sum(nil))
	return nil
}
