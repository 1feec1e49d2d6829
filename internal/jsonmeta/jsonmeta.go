// Package jsonmeta parses JSON objects with the metadata of a file.
//
// Its checks are stricter than those of encoding/json: text must be valid UTF-8, nesting is
// limited, and the keys of the outermost object are unique and have no NUL, since they become the
// keys of a format.Metadata.
package jsonmeta

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/wire"
	"github.com/weightmap/weightmap/tensor"
)

// MaxDepth is the default limit on the nesting of objects and arrays, including the outermost
// object.
const MaxDepth = 1000

// EntryBytes is the memory of an entry of metadata, without its text.
const EntryBytes = 64

// Options are the differences between formats.
type Options struct {
	// LoneSurrogates accepts escapes of unpaired surrogates such as \ud800, except in the keys of
	// the outermost object.
	LoneSurrogates bool
	// Alias makes values that are json.RawMessage alias the text.
	Alias bool
	// MaxDepth replaces the package's MaxDepth if it is not 0.
	MaxDepth int
	// Memory, if not nil, counts the memory of metadata in a file with Stored bytes of structure.
	Memory *driver.Memory
	Stored int64
	// Finite makes Marshal refuse NaN and infinities, which JSON lacks. Otherwise they become
	// strings, as in format.Metadata.MarshalJSON.
	Finite bool
	// Value, if not nil, replaces Scanner.Value for the values of the outermost object.
	Value func(s *Scanner, key string) (any, error)
}

// checked are the options for texts that Parse has accepted.
var checked = Options{LoneSurrogates: true}

// Error describes an error and its offset. It wraps tensor.ErrCorrupt.
type Error struct {
	Offset int64 // in bytes, from the start of the text
	Reason string
}

// Error implements error.
func (e *Error) Error() string {
	return tensor.ErrCorrupt.Error() + ": " + e.Reason + " at byte " + strconv.FormatInt(e.Offset, 10) + " of the JSON text"
}

// Unwrap returns tensor.ErrCorrupt.
func (e *Error) Unwrap() error { return tensor.ErrCorrupt }

// Locate adds a field, and the offset in the file, to an Error in a text that begins at offset
// base.
func Locate(err error, format, field string, base int64) error {
	if e, ok := err.(*Error); ok {
		return wire.Error(format, field, base+e.Offset, err)
	}
	return err
}

// Parse returns the entries of b, which must be one JSON object, as the package comment describes.
// Values are as Scanner.Value returns them.
func Parse(b []byte, o Options) (schema.Metadata, error) {
	s := NewScanner(b, o)
	m, err := s.metadata(true)
	if err == nil {
		err = s.End()
	}
	return m, err
}

// Metadata parses an object with unique keys, which may have NUL characters.
func (s *Scanner) Metadata() (schema.Metadata, error) { return s.metadata(false) }

// metadata counts the entries, so that their memory is known before it is allocated, and then
// decodes them.
func (s *Scanner) metadata(plainKeys bool) (schema.Metadata, error) {
	n := 0
	end := *s
	_ = end.Object(func([]byte, int) error { n++; return end.Skip() }) // decoding returns the error
	if s.o.Memory != nil {
		err := s.o.Memory.Reserve(int64(end.i - s.i)) // which has a limit already if it was compressed
		if err == nil {
			err = s.o.Memory.Build(int64(n*EntryBytes), s.o.Stored)
		}
		if err != nil {
			return nil, err
		}
	}
	m := slices.Grow(schema.Metadata(nil), n)
	offsets := make([]int, 0, n)
	err := s.Object(func(name []byte, at int) (err error) {
		e := schema.Entry{Key: string(name)}
		switch {
		case plainKeys && s.lone >= at:
			return &Error{int64(s.lone), unpaired}
		case plainKeys && strings.IndexByte(e.Key, 0) >= 0:
			return &Error{int64(at), "a key contains a NUL character"}
		case s.o.Value != nil:
			e.Value, err = s.o.Value(s, e.Key)
		default:
			e.Value, err = s.Value()
		}
		m = append(m, e)
		offsets = append(offsets, at)
		return err
	})
	if err == nil {
		err = unique(m, offsets)
	}
	return m, err
}

// unique returns an error for the first key that occurs twice.
func unique(m schema.Metadata, offsets []int) error {
	order := make([]int, len(m))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Or(strings.Compare(m[a].Key, m[b].Key), a-b) })
	second := len(m)
	for k := 1; k < len(order); k++ {
		if m[order[k]].Key == m[order[k-1]].Key {
			second = min(second, order[k])
		}
	}
	if second < len(m) {
		return &Error{int64(offsets[second]), "a key occurs twice"}
	}
	return nil
}
