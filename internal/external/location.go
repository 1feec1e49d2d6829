// Package external handles the data of wia and onnx models that is stored in other files in the
// model's directory. It validates locations and writes such files.
package external

import (
	"bytes"
	"fmt"
	"path"
	"strings"

	"github.com/weightmap/weightmap/tensor"
)

// CheckLocation fails unless a location is a slash-separated path below the model's directory on
// every system. Symbolic links are checked when the file is opened.
func CheckLocation(l []byte) error {
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

// hasScheme recognizes "C:", "https://" and "file:". Other colons may be in names such as "conv:0".
func hasScheme(l []byte) bool {
	scheme, rest, ok := bytes.Cut(l, []byte(":"))
	if !ok || len(scheme) == 0 || bytes.ContainsAny(scheme, "/ ") {
		return false
	}
	letter := scheme[0]|0x20 >= 'a' && scheme[0]|0x20 <= 'z'
	return letter && (len(scheme) == 1 || len(rest) > 0 && rest[0] == '/' || bytes.EqualFold(scheme, []byte("file")))
}

// leadsUp reports whether a path has an element "..".
func leadsUp(l []byte) bool {
	for len(l) > 0 {
		var elem []byte
		if elem, l, _ = bytes.Cut(l, []byte("/")); string(elem) == ".." {
			return true
		}
	}
	return false
}

// Clean returns the shortest form of a location. A location that ends with a slash keeps it.
func Clean(location string) string {
	c := path.Clean(location)
	if strings.HasSuffix(location, "/") && c != "/" {
		c += "/"
	}
	return c
}
