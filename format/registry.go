package format

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/foreign"
	"github.com/weightmap/weightmap/tensor"
)

var registry struct {
	sync.RWMutex
	drivers []driver.Driver // sorted by name
}

// Register makes a format available to Open and Create. Format packages call it from init. It panics if the
// driver has no name, or that of a registered format.
func Register(d driver.Driver) {
	registry.Lock()
	defer registry.Unlock()
	if d == nil || d.Describe().Name == "" {
		panic("format: Register of a driver without a name")
	}
	name := d.Describe().Name
	at, found := slices.BinarySearchFunc(registry.drivers, name, func(d driver.Driver, name string) int {
		return strings.Compare(d.Describe().Name, name)
	})
	if found {
		panic("format: Register called twice for " + name)
	}
	registry.drivers = slices.Insert(slices.Clone(registry.drivers), at, d) // a copy: others may be at the old list
}

// drivers returns the registered formats, sorted by name.
func drivers() []driver.Driver {
	registry.RLock()
	defer registry.RUnlock()
	return registry.drivers
}

// Formats returns the names of the registered formats, sorted.
func Formats() []string { return names(func(driver.Driver) bool { return true }) }

// Writable returns the names of the registered formats that can be written, sorted.
func Writable() []string {
	return names(func(d driver.Driver) bool {
		_, ok := d.(driver.Writer)
		return ok
	})
}

func names(of func(driver.Driver) bool) (names []string) {
	for _, d := range drivers() {
		if of(d) {
			names = append(names, d.Describe().Name)
		}
	}
	return names
}

// Lookup returns the registered format with the given name, such as "gguf".
func Lookup(name string) (Codec, error) {
	for _, d := range drivers() {
		if d.Describe().Name == name {
			return Codec{d}, nil
		}
	}
	if err := foreign.NoDriver(name); err != nil {
		return Codec{}, &tensor.Error{Field: "format", Offset: -1, Err: err}
	}
	return Codec{}, unregistered("", fmt.Sprintf("%q", name))
}

// unregistered returns the error for a format that is not registered.
func unregistered(path, what string) error {
	err := fmt.Errorf("%w: %s (registered: %s)", ErrUnknownFormat, what, strings.Join(Formats(), ", "))
	return &tensor.Error{Path: path, Field: "format", Offset: -1, Err: err}
}

// For returns the registered format with the given name, or if name is "" the one that ByExtension finds.
func For(name, path string) (Codec, error) {
	if name != "" {
		return Lookup(name)
	}
	if c, ok := ByExtension(path); ok {
		return c, nil
	}
	if err := foreign.NoDriver(foreign.ByEnding(path)); err != nil {
		return Codec{}, &tensor.Error{Path: path, Field: "format", Offset: -1, Err: err}
	}
	return Codec{}, unregistered(path, "the file name ends like that of none")
}

// ByExtension returns the registered format whose files usually have the extension of path.
func ByExtension(path string) (Codec, bool) {
	for _, d := range drivers() {
		if endsLike(d, path) {
			return Codec{d}, true
		}
	}
	return Codec{}, false
}

func endsLike(d driver.Driver, path string) bool {
	path = strings.ToLower(filepath.Base(path))
	return slices.ContainsFunc(d.Describe().Extensions, func(e string) bool { return strings.HasSuffix(path, e) })
}

// Detect returns the name of the format of a file of size bytes that begins with head; driver.SniffLen bytes
// suffice. The error is ErrUnknownFormat if no registered format matches. If several do, Detect returns the
// first by name.
func Detect(head []byte, size int64) (string, error) {
	d := detect(head, size, "")
	if d == nil {
		return "", unknown(head, "")
	}
	return d.Describe().Name, nil
}

// detect goes by content; the extension of path only breaks ties. It returns nil when no format claims the file.
func detect(head []byte, size int64, path string) (found driver.Driver) {
	for _, d := range drivers() {
		if d.Detect(head, size) && (found == nil || endsLike(d, path)) {
			found = d
		}
	}
	return found
}

// unknown is the error for a file that no format claims. Its extension says at
// least which format was expected.
func unknown(head []byte, path string) error {
	if err := noDriver(foreign.Format(head)); err != nil {
		return &tensor.Error{Path: path, Offset: -1, Err: err}
	}
	if is := foreign.Name(head, path); is != "" {
		return named(ErrUnknownFormat, is, "", path)
	}
	if err := noDriver(foreign.ByEnding(path)); err != nil {
		return &tensor.Error{Path: path, Offset: -1, Err: err}
	}
	if is := foreign.Guess(head); is != "" {
		return named(ErrUnknownFormat, is, "", path)
	}
	begins := "is empty"
	if len(head) > 0 {
		begins = fmt.Sprintf("begins with % x", head[:min(len(head), 8)])
	}
	expected, err := "", ErrUnknownFormat
	if c, ok := ByExtension(path); ok {
		expected, err = c.Name(), fmt.Errorf("%w: %w", err, ErrMagic)
	}
	return driver.Errorf(expected, "magic", 0, err, "the file %s", begins)
}

// noDriver returns the error for a format of this module that is not linked, or nil.
func noDriver(name string) error {
	_, err := Lookup(name)
	if err == nil {
		return nil
	}
	return foreign.NoDriver(name)
}

// other says what a file is that d could not parse, "" if it may well be of that format. A message without a magic
// goes by its name, and an archive by its first entry.
func other(d driver.Driver, head []byte, size int64, path string) string {
	if len(head) == 0 {
		return ""
	}
	is := foreign.ByName(path)
	if is != "" {
		return is
	}
	its := d.Detect(head, size)
	if its && head[0] != 0x08 && head[0] != 0x0a && head[0] != 'P' {
		return ""
	}
	is = foreign.Name(head, path)
	if is == foreign.Model(d.Describe().Name) {
		return ""
	}
	if is != "" || its {
		return is
	}
	if of := detect(head, size, path); of != nil {
		return foreign.Model(of.Describe().Name)
	}
	return foreign.Guess(head)
}

// named says in the error of a file or directory what it is. An error of a format that was asked for keeps the rest.
func named(err error, is, asked, path string) error {
	e := tensor.Error{Path: path, Offset: -1}
	var of *tensor.Error
	if errors.As(err, &of) && asked != "" {
		e = *of
	}
	e.Err = foreign.Error(is, err)
	return &e
}
