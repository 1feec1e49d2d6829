package wia

import (
	"crypto/sha256"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/external"
	"github.com/weightmap/weightmap/internal/wire"
)

// externalData is what a tensor says of a range of an external file.
type externalData struct {
	tensor int    // -1 for one inside the graph
	name   string // of one inside the graph
	space  driver.Space
	span
	checksum
}

// externalDataBytes is what one takes in a list that grows.
const externalDataBytes = 192

// checksum is a SHA-256 sum that may be missing.
type checksum struct {
	summed bool
	sum    [sha256.Size]byte
}

// space returns the space of the external file at a location, which is declared
// when it is first met: it is opened when one of its tensors is used.
func (f *parsed) space(location []byte) (driver.Space, error) {
	if s, ok := f.spaces[string(location)]; ok {
		return s, nil
	}
	if f.spaces == nil {
		f.spaces = make(map[string]driver.Space)
	}
	l := string(location)
	dir, _ := f.src.Dir() // without one, the use of the file is the error
	s, err := dir.Declare(external.Clean(l))
	if err == nil {
		f.spaces[l] = s
	}
	return s, err
}

// externalError says which tensor an error about external data is about, and
// where its message is; of tensors inside the graph it says only that.
func (f *parsed) externalError(x *externalData, err error) error {
	switch {
	case err == nil:
		return nil
	case x.tensor < 0:
		return wire.Error(formatName, "graph: external_data", f.graph.at, err)
	}
	return f.tensorError(x.tensor, "external_data", f.records[x.tensor].at, err)
}
