package format

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/weightmap/weightmap/format/driver"
)

var registry struct {
	sync.RWMutex
	drivers []driver.Driver // sorted by name
}

// Register makes a format known to Open and Create. Format packages call it from
// init; a name that is missing or taken is a mistake of the program and panics.
func Register(d driver.Driver) {
	registry.Lock()
	defer registry.Unlock()
	if d == nil || d.Describe().Name == "" {
		panic("format: Register of a driver without a name")
	}
	name := d.Describe().Name
	at := 0
	for _, other := range registry.drivers {
		switch strings.Compare(other.Describe().Name, name) {
		case 0:
			panic("format: Register called twice for " + name)
		case -1:
			at++
		}
	}
	registry.drivers = append(slices.Clone(registry.drivers), nil)
	copy(registry.drivers[at+1:], registry.drivers[at:])
	registry.drivers[at] = d
}

// drivers returns the registered formats, sorted by name.
func drivers() []driver.Driver {
	registry.RLock()
	defer registry.RUnlock()
	return registry.drivers
}

// Formats returns the names of the registered formats, sorted.
func Formats() []string {
	var names []string
	for _, d := range drivers() {
		names = append(names, d.Describe().Name)
	}
	return names
}

// Lookup returns the registered format of that name.
func Lookup(name string) (Codec, error) {
	for _, d := range drivers() {
		if d.Describe().Name == name {
			return Codec{d}, nil
		}
	}
	return Codec{}, unregistered(name)
}

func unregistered(name string) error {
	return &Error{Field: "format", Offset: -1, Err: fmt.Errorf("%w: %q (registered: %s)", ErrUnknownFormat, name, strings.Join(Formats(), ", "))}
}

// For returns the registered format of that name, or without a name the one whose
// files usually end like path.
func For(name, path string) (Codec, error) {
	if name != "" {
		return Lookup(name)
	}
	if c, ok := ByExtension(path); ok {
		return c, nil
	}
	return Codec{}, &Error{Path: path, Field: "format", Offset: -1,
		Err: fmt.Errorf("%w: the file name ends like that of none (registered: %s)", ErrUnknownFormat, strings.Join(Formats(), ", "))}
}

// ByExtension returns the format whose files usually end like path.
func ByExtension(path string) (Codec, bool) {
	for _, d := range drivers() {
		if endsLike(d, path) {
			return Codec{d}, true
		}
	}
	return Codec{}, false
}

func endsLike(d driver.Driver, path string) bool {
	return slices.Contains(d.Describe().Extensions, lower(filepath.Ext(filepath.Clean(path))))
}

// lower is strings.ToLower for ASCII, which is what extensions are: that one brings
// 20 kB of Unicode tables into a program of 700.
func lower(s string) string {
	b := []byte(s)
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			b[i] = c + 'a' - 'A'
		}
	}
	return string(b)
}

// Detect names the format of a file that begins with head (driver.SniffLen bytes
// are plenty) and has size bytes. It goes by content alone. ErrUnknownFormat when no
// registered format claims it; the first in order of names when several do.
func Detect(head []byte, size int64) (string, error) {
	d, err := detect(head, size, "")
	if err != nil {
		return "", err
	}
	return d.Describe().Name, nil
}

// detect goes by content; the extension of path only breaks ties.
func detect(head []byte, size int64, path string) (driver.Driver, error) {
	var found driver.Driver
	for _, d := range drivers() {
		if d.Detect(head, size) && (found == nil || endsLike(d, path)) {
			found = d
		}
	}
	if found == nil {
		return nil, unknown(head, path)
	}
	return found, nil
}

// unknown is the error for a file that no format claims. Its extension says at
// least which format was expected.
func unknown(head []byte, path string) error {
	e := &Error{Field: "magic", Offset: 0}
	begins := "the file is empty"
	if len(head) > 0 {
		begins = fmt.Sprintf("the file begins with % x", head[:min(len(head), 8)])
	}
	if c, ok := ByExtension(path); ok {
		e.Format = c.Name()
		e.Err = fmt.Errorf("%w: %w: %s", ErrUnknownFormat, ErrMagic, begins)
	} else {
		e.Err = fmt.Errorf("%w: %s", ErrUnknownFormat, begins)
	}
	return e
}
