package wia

import (
	"crypto/sha256"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/wire"
)

// externalData is the range of an external file with the data of a tensor.
type externalData struct {
	tensor int    // index; -1 for a tensor inside the graph
	name   string // of a tensor inside the graph
	space  driver.Space
	span
	checksum
}

// externalDataBytes is the memory to reserve for an element of a growing list.
const externalDataBytes = 192

// checksum is an optional SHA-256 checksum.
type checksum struct {
	summed bool
	sum    [sha256.Size]byte
}

// externalError adds the name of the tensor and the offset of its message to an
// error about external data. For a tensor inside the graph it adds only the
// field and the offset of the graph.
func (f *parsed) externalError(x *externalData, err error) error {
	switch {
	case err == nil:
		return nil
	case x.tensor < 0:
		return wire.Error(formatName, "graph: external_data", f.payloads[graphBlock].at, err)
	}
	return f.tensorError(x.tensor, "external_data", f.records[x.tensor].at, err)
}
