package torch

import (
	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/zip"
)

// driverOf is the driver. The format is read-only.
type driverOf struct{}

var own = format.With(driverOf{})

func init() {
	format.Register(driverOf{})
	format.FindInDirectories()
}

// Describe implements driver.Driver.
func (driverOf) Describe() driver.Description {
	return driver.Description{Name: formatName, Extensions: extensions}
}

var extensions = []string{".pt", ".pth", ".ckpt", ".bin.index.json"}

// Detect implements driver.Driver. The first entry of an archive is NAME/data.pkl or another entry
// that torch.save writes.
func (driverOf) Detect(head []byte, _ int64) bool {
	return isIndex(head) || isLegacy(head) || zip.IsTorch(zip.FirstName(head))
}
