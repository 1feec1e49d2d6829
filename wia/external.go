package wia

import (
	"bytes"
	"fmt"
	"path"
	"strings"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/tensor"
)

// elsewhere is a range of an external file that a tensor of an attribute or of a
// subgraph names.
type elsewhere struct {
	name string // of the tensor, which may have none
	rng  extent
	sum  digest
}

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

// checkLocation refuses locations that are no slash-separated path below the
// model's directory, whatever the host's file system would make of them. That
// symbolic links do not lead out is seen when the file is used.
func checkLocation(l []byte) error {
	reason := ""
	switch {
	case len(l) == 0:
		reason = "is empty"
	case bytes.IndexByte(l, 0) >= 0:
		reason = "contains a NUL byte"
	case l[0] == '/':
		reason = "is absolute"
	case bytes.IndexByte(l, '\\') >= 0:
		reason = "contains a backslash"
	case hasScheme(l):
		reason = "names a drive or a URL"
	case leadsUp(l):
		reason = "leads upwards"
	default:
		return nil
	}
	return fmt.Errorf("%w: location %.200q %s", tensor.ErrCorrupt, l, reason)
}

// hasScheme recognizes "C:", "https://" and "file:". Other colons are part of
// names such as "conv:0".
func hasScheme(l []byte) bool {
	scheme, rest, ok := bytes.Cut(l, []byte(":"))
	if !ok || len(scheme) == 0 || bytes.ContainsAny(scheme, "/ ") {
		return false
	}
	letter := scheme[0]|0x20 >= 'a' && scheme[0]|0x20 <= 'z'
	return letter && (len(scheme) == 1 || len(rest) > 0 && rest[0] == '/' || bytes.EqualFold(scheme, []byte("file")))
}

// leadsUp looks for an element "..".
func leadsUp(l []byte) bool {
	for len(l) > 0 {
		var elem []byte
		if elem, l, _ = bytes.Cut(l, []byte("/")); string(elem) == ".." {
			return true
		}
	}
	return false
}
