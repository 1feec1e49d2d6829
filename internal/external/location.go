// Package external handles the data of wia and onnx models that is stored in other files in the
// model's directory. It validates locations and writes such files.
package external

import (
	"bytes"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/tensor"
)

// Files are the files of external data that a model names, by location. The zero Files is empty.
type Files struct{ list map[string]file }

type file struct {
	space driver.Space
	size  int64 // -1 if unknown, or if the file cannot be opened
}

// Find returns the file at a location, which has been checked. The first call for a location
// declares it; the file is opened when one of its tensors is used or, if sized is set, now.
func (f *Files) Find(src driver.Source, location []byte, sized bool) (driver.Space, int64, error) {
	x, ok := f.list[string(location)]
	if ok && (!sized || x.size >= 0) {
		return x.space, x.size, nil
	}
	dir, _ := src.Dir() // without a directory, using the file fails
	x, err := locate(dir, Clean(string(location)), sized)
	if err != nil {
		return x.space, x.size, err
	}
	if f.list == nil {
		f.list = map[string]file{}
	}
	f.list[string(location)] = x
	return x.space, x.size, nil
}

// locate opens a file if sized is set and that succeeds. Otherwise it declares the file.
func locate(dir driver.Dir, name string, sized bool) (file, error) {
	if sized && !strings.HasSuffix(name, "/") {
		src, space, err := dir.Open(name)
		if err == nil {
			return file{space, src.Size()}, nil
		}
	}
	space, err := dir.Declare(name)
	return file{space, -1}, err
}

// View returns the view of a tensor with data at a location that Find has found. A model being
// written has no source and no files yet: the view is empty.
func (f *Files) View(src driver.Source, location []byte, info *tensor.Info) tensor.View {
	if src == nil {
		return tensor.View{}
	}
	dir, _ := src.Dir()
	return dir.View(f.list[string(location)].space, info)
}

// Size returns the size of a file that Find has opened.
func (f *Files) Size(location []byte) int64 { return f.list[string(location)].size }

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

// leadsUp reports whether an element of a location is "..".
func leadsUp(l []byte) bool {
	if !bytes.Contains(l, []byte("..")) { // most have none, and need not be split
		return false
	}
	return slices.Contains(strings.Split(string(l), "/"), "..")
}

// hasScheme recognizes "C:", "https://" and "file:". Other colons may be in names such as "conv:0".
func hasScheme(l []byte) bool {
	scheme, rest, ok := bytes.Cut(l, []byte(":"))
	if !ok || len(scheme) == 0 || bytes.ContainsAny(scheme, "/ ") {
		return false
	}
	isLetter := scheme[0]|0x20 >= 'a' && scheme[0]|0x20 <= 'z'
	if !isLetter {
		return false
	}
	return len(scheme) == 1 || len(rest) > 0 && rest[0] == '/' ||
		bytes.EqualFold(scheme, []byte("file"))
}

// Clean returns the shortest form of a location. A location that ends with a slash keeps it.
func Clean(location string) string {
	c := path.Clean(location)
	if strings.HasSuffix(location, "/") && c != "/" {
		c += "/"
	}
	return c
}
