package npy

import (
	"bytes"
	_ "crypto/sha1" // for Verify of files that caches name by their digests
	_ "crypto/sha256"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/zip"
)

// Format is that of .npy files, which hold one tensor. It has no options that other formats lack.
type Format struct{}

// Driver implements format.Format.
func (Format) Driver() driver.Driver { return fileFormat{} }

// Archive is the format of .npz files. It has no options that other formats lack. A writer stores
// the tensors uncompressed, and aligned so that they can be viewed.
type Archive struct{}

// Driver implements format.Format.
func (Archive) Driver() driver.Driver { return archiveFormat{} }

// fileFormat is the driver of .npy files.
type fileFormat struct{}

// archiveFormat is the driver of .npz files.
type archiveFormat struct{}

var (
	fileExtensions    = []string{extension}
	archiveExtensions = []string{".npz"}
)

func init() {
	format.Register(Format{})
	format.Register(Archive{})
}

// Describe implements driver.Driver.
func (fileFormat) Describe() driver.Description {
	return driver.Description{Name: formatName, Extensions: fileExtensions}
}

// Detect implements driver.Driver.
func (fileFormat) Detect(head []byte, _ int64) bool { return bytes.HasPrefix(head, []byte(magic)) }

// Describe implements driver.Driver.
func (archiveFormat) Describe() driver.Description {
	return driver.Description{Name: archiveName, Extensions: archiveExtensions}
}

// Detect implements driver.Driver. Any entry may come first, but not one without a
// name, nor one that torch.save writes; an archive without entries is one record.
func (archiveFormat) Detect(head []byte, size int64) bool {
	if name := zip.FirstName(head); name != "" {
		return name[0] != 0 && !zip.IsTorch(name)
	}
	return zip.IsEmpty(head, size)
}
