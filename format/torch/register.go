package torch

import (
	_ "crypto/sha1" // for Verify of files that caches name by their digests
	_ "crypto/sha256"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/pickle"
	"github.com/weightmap/weightmap/internal/zip"
)

// Format is that of torch.save. It is read-only.
type Format struct{}

// Driver implements format.Format.
func (Format) Driver() driver.Driver { return fileFormat{} }

// fileFormat is the driver.
type fileFormat struct{}

// Open maps the PyTorch file at path and reads its pickle without running any code in it. A nil
// *format.Options is the zero value. Errors are *tensor.Error with field and offset, or wrap errors
// of package os.
func Open(path string, o *format.Options) (*format.Model, error) {
	return format.Open(path, o.With(Format{}))
}

func init() {
	format.Register(Format{})
}

// Describe implements driver.Driver.
func (fileFormat) Describe() driver.Description {
	return driver.Description{Name: formatName, Extensions: extensions}
}

var extensions = []string{".pt", ".pth", ".ckpt", ".bin.index.json"}

// Detect implements driver.Driver. The first entry of an archive is NAME/data.pkl or another entry
// that torch.save writes.
func (fileFormat) Detect(head []byte, _ int64) bool {
	return isIndex(head) || isLegacy(head) || pickle.Begins(head) || zip.IsTorch(zip.FirstName(head))
}
