// Package external is what the formats have in common that keep data in other files of a
// model's directory: wia and onnx. It says what locations may be, and writes such a file.
package external

import (
	"bytes"
	"fmt"
	"path"
	"strings"

	"github.com/weightmap/weightmap/tensor"
)

// CheckLocation refuses locations that are no slash-separated path below the
// model's directory, on any system. That
// symbolic links do not lead out is seen when the file is used.
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

// Clean returns the shortest form of a location. One that names a directory keeps its slash.
func Clean(location string) string {
	c := path.Clean(location)
	if strings.HasSuffix(location, "/") && c != "/" {
		c += "/"
	}
	return c
}
