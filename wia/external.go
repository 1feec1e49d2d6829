package wia

import (
	"path"
	"strings"

	"github.com/weightmap/weightmap/format/driver"
)

// elsewhere is a range of an external file that a tensor of an attribute or of a
// subgraph names.
type elsewhere struct {
	name string // of the tensor, which may have none
	rng  extent
	sum  digest
}

// elsewhereBytes is what one takes in a list that grows.
const elsewhereBytes = 160

// extent is a range of a file.
type extent struct {
	space     driver.Space
	off, size int64
}

// space returns the space of the external file at a location, which is declared
// when it is first met: it is opened when one of its tensors is used.
func (f *parsed) space(location []byte) (driver.Space, error) {
	if s, ok := f.spaces[string(location)]; ok {
		return s, nil
	}
	l := string(location)
	name := path.Clean(l)
	if strings.HasSuffix(l, "/") {
		name += "/"
	}
	dir, _ := f.src.Dir() // without one, the use of the file is the error
	s, err := dir.Declare(name)
	if err != nil {
		return 0, err
	}
	if f.spaces == nil {
		f.spaces = make(map[string]driver.Space)
	}
	f.spaces[l] = s
	return s, nil
}

// extentOf returns where the data of external tensor i is.
func (f *parsed) extentOf(i int) (e extent) {
	e.space, e.off, e.size = f.index.Place(i)
	return e
}
