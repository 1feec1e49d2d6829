// Package jsonmeta checks and reads the JSON objects in which formats keep
// their metadata.
//
// Files come from anywhere, so the checks are stricter than encoding/json's:
// UTF-8 must be valid, nesting is bounded, and the keys of the object itself are
// unique and have no NUL, since they become the keys of a format.Metadata.
// Checking allocates next to nothing; values are only made by Metadata.
package jsonmeta

import (
	"bytes"
	"hash/maphash"
	"io"
	"slices"
	"strconv"

	"github.com/weightmap/weightmap/tensor"
)

// MaxDepth is how deep objects and arrays may nest, the outermost object
// counted as 1.
const MaxDepth = 1000

// Options says where formats differ.
type Options struct {
	// LoneSurrogates accepts escapes such as \ud800 that have no other half, but in the
	// outermost object's keys.
	LoneSurrogates bool
	// MaxDepth is another limit than the package's, if not 0.
	MaxDepth int
	// Entries, if not nil, is told how many keys Check found, and may refuse.
	Entries func(n int) error
	// Strings, if not nil, learns where the strings of an array are that Check passes.
	Strings *Strings
}

// checked is for texts that Check accepts.
var checked = Options{LoneSurrogates: true}

// EntryBytes is what Metadata makes of an entry, besides its text.
const EntryBytes = 64

// Error says what is wrong and where. It wraps tensor.ErrCorrupt.
type Error struct {
	Offset int64 // in bytes, from the start of the text
	Reason string
}

// Error describes the mistake and its place.
func (e *Error) Error() string {
	return tensor.ErrCorrupt.Error() + ": " + e.Reason + " at byte " + strconv.FormatInt(e.Offset, 10) + " of the JSON text"
}

// Unwrap returns tensor.ErrCorrupt.
func (e *Error) Unwrap() error { return tensor.ErrCorrupt }

// Check reports why b is not one JSON object as the package describes it.
func Check(b []byte, o Options) error { return new(Checker).Check(b, o) }

// Checker checks many texts and uses its memory again.
type Checker struct{ keys keys }

// Check is the package's Check.
func (c *Checker) Check(b []byte, o Options) error {
	s := NewScanner(b, o)
	s.space()
	if !s.at('{') {
		return s.fail("expected an object")
	}
	if c.keys = c.keys[:0]; c.keys == nil {
		c.keys = make(keys, 0, 16)
	}
	from, null := s.i, -1
	err := s.object(func(key []byte, at int) error {
		if s.escaped {
			strict := Scanner{b: b, i: at}
			if _, err := strict.text(); err != nil {
				return err
			}
			if key = unescape(key); null < 0 && bytes.IndexByte(key, 0) >= 0 {
				null = at
			}
		}
		c.keys.add(key)
		if o.Strings != nil && string(key) == o.Strings.Key {
			return o.Strings.walk(&s)
		}
		return s.Skip()
	})
	if err == nil {
		err = s.End()
	}
	if err == nil && null >= 0 {
		err = &Error{int64(null), "a key contains a NUL character"}
	}
	if err == nil && o.Entries != nil {
		err = o.Entries(len(c.keys))
	}
	if err == nil {
		err = c.keys.unique(b, from)
	}
	return err
}

// keys are the hashes of the keys of an object, which take less memory than the
// keys.
type keys []uint64

var seed = maphash.MakeSeed()

func (k *keys) add(key []byte) { *k = append(*k, maphash.Bytes(seed, key)) }

// unique refuses keys that occur twice in the object at from of b, whose syntax has
// been checked. It sorts k.
func (k keys) unique(b []byte, from int) error {
	slices.Sort(k)
	for i := 1; i < len(k); i++ {
		if k[i-1] != k[i] || i > 1 && k[i-2] == k[i] {
			continue
		}
		if at, ok := repeated(b, from, k[i]); ok {
			return &Error{int64(at), "a key occurs twice"}
		}
	}
	return nil
}

// repeated finds the second of two equal keys with that hash.
func repeated(b []byte, from int, hash uint64) (at int, found bool) {
	s := Scanner{b: b, i: from, o: checked}
	var same [][]byte // different keys with that hash
	_ = s.object(func(raw []byte, pos int) error {
		key := s.plain(raw)
		if maphash.Bytes(seed, key) == hash {
			if slices.ContainsFunc(same, func(k []byte) bool { return bytes.Equal(k, key) }) {
				at, found = pos, true
				return io.EOF
			}
			same = append(same, key)
		}
		return s.Skip()
	})
	return at, found
}
