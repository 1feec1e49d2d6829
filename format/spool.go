package format

import (
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/disk"
	"github.com/weightmap/weightmap/internal/target"
)

// newSpool creates a target for data that is read back, in memory or in a file.
func newSpool(where Spool) (t driver.Target, remove func(), err error) {
	if where == SpoolMemory {
		return &target.Memory{}, func() {}, nil
	}
	f, err := disk.CreateSpool()
	if err != nil {
		return nil, nil, err
	}
	return f, f.Abort, nil
}
