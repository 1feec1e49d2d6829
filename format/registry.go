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

// Format is a format, with the options that only it has for writing: mle.Format{Chunked: true}. The
// zero value of a format's type has the usual options; ByName and ByExtension return it.
type Format interface {
	// Driver returns what reads and writes the format.
	Driver() driver.Driver
}

// registered is a format with its driver.
type registered struct {
	Format
	driver driver.Driver
	name   string
}

var registry struct {
	sync.RWMutex
	formats []registered // sorted by name
}

// Register makes a format available to Open and Create. Packages of formats call it from init. It
// panics if the driver has no name, or that of a registered format.
func Register(f Format) {
	registry.Lock()
	defer registry.Unlock()
	r := registered{Format: f}
	if f != nil {
		r.driver = f.Driver()
		r.name = driverName(r.driver)
	}
	if r.name == "" {
		panic("format: Register of a driver without a name")
	}
	at, found := slices.BinarySearchFunc(registry.formats, r.name, func(r registered, name string) int {
		return strings.Compare(r.name, name)
	})
	if found {
		panic("format: Register called twice for " + r.name)
	}
	registry.formats = slices.Insert(slices.Clone(registry.formats), at, r) // a copy: others may be at the old list
}

// formats returns the registered formats, sorted by name.
func formats() []registered {
	registry.RLock()
	defer registry.RUnlock()
	return registry.formats
}

// driverName returns the name of the format of a driver, "" for nil.
func driverName(d driver.Driver) string {
	if d == nil {
		return ""
	}
	return d.Describe().Name
}

// Names returns the names of the registered formats, sorted.
func Names() []string {
	var names []string
	for _, r := range formats() {
		names = append(names, r.name)
	}
	return names
}

// Writable returns the names of the registered formats that can be written, sorted.
func Writable() []string {
	var names []string
	for _, r := range formats() {
		_, ok := r.driver.(driver.Writer)
		if ok {
			names = append(names, r.name)
		}
	}
	return names
}

// ByName returns the registered format with the given name, such as "gguf". The error is
// ErrUnknownFormat, and names the package to import if there is one.
func ByName(name string) (Format, error) {
	r, err := byName(name)
	return r.Format, err
}

func byName(name string) (registered, error) {
	for _, r := range formats() {
		if r.name == name {
			return r, nil
		}
	}
	err := foreign.NoDriver(name)
	if err != nil {
		return registered{}, &tensor.Error{Field: "format", Offset: -1, Err: err}
	}
	return registered{}, unregistered("", fmt.Sprintf("%q", name))
}

// unregistered returns the error for a format that is not registered.
func unregistered(path, what string) error {
	err := fmt.Errorf("%w: %s (registered: %s)", ErrUnknownFormat, what, strings.Join(Names(), ", "))
	return &tensor.Error{Path: path, Field: "format", Offset: -1, Err: err}
}

// ByExtension returns the registered format whose files usually have the extension of path. The
// error is ErrUnknownFormat, and names the package to import if there is one.
func ByExtension(path string) (Format, error) {
	r, ok := byExtension(path)
	if ok {
		return r.Format, nil
	}
	err := foreign.NoDriver(foreign.ByEnding(path))
	if err != nil {
		return nil, &tensor.Error{Path: path, Field: "format", Offset: -1, Err: err}
	}
	return nil, unregistered(path, "unknown file name extension")
}

func byExtension(path string) (registered, bool) {
	name := lowerBase(path)
	for _, r := range formats() {
		if endsLike(r.driver, name) {
			return r, true
		}
	}
	return registered{}, false
}

// lowerBase returns the last element of a path in lower case.
func lowerBase(path string) string { return strings.ToLower(filepath.Base(path)) }

// endsLike reports whether a name in lower case has an extension of a format.
func endsLike(d driver.Driver, name string) bool {
	isEnd := func(ending string) bool { return strings.HasSuffix(name, ending) }
	return slices.ContainsFunc(d.Describe().Extensions, isEnd)
}

// Detect returns the name of the format of a file of size bytes that begins with head;
// driver.SniffLen bytes suffice. The error is ErrUnknownFormat if no registered format matches. If
// several do, Detect returns the first by name.
func Detect(head []byte, size int64) (string, error) {
	d := detect(head, size, "")
	if d == nil {
		return "", unknown(head, "")
	}
	return d.Describe().Name, nil
}

// detect goes by content; the extension of path only breaks ties. It returns nil when no format
// claims the file.
func detect(head []byte, size int64, path string) (found driver.Driver) {
	for _, r := range formats() {
		if r.driver.Detect(head, size) && (found == nil || endsLike(r.driver, lowerBase(path))) {
			found = r.driver
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
	expected := ""
	err := ErrUnknownFormat
	r, ok := byExtension(path)
	if ok {
		expected = r.name
		err = fmt.Errorf("%w: %w", err, ErrMagic)
	}
	return driver.Errorf(expected, "magic", 0, err, "the file %s", begins)
}

// noDriver returns the error for a format of this module that is not linked, or nil.
func noDriver(name string) error {
	_, err := byName(name)
	if err == nil {
		return nil
	}
	return foreign.NoDriver(name)
}

// other says what a file is that d could not parse, "" if it may well be of that format. A message
// without a magic goes by its name, and an archive by its first entry.
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

// named says in the error of a file or directory what it is. An error of a format that was asked
// for keeps the rest.
func named(err error, is, asked, path string) error {
	e := tensor.Error{Path: path, Offset: -1}
	var of *tensor.Error
	if errors.As(err, &of) && asked != "" {
		e = *of
	}
	e.Err = foreign.Error(is, err)
	return &e
}
