// Package jsonmeta validates and parses JSON objects with the metadata of a file.
//
// Its checks are stricter than those of encoding/json: text must be valid UTF-8, nesting is
// limited, and the keys of the outermost object are unique and have no NUL, since they become the
// keys of a format.Metadata. Validation allocates almost nothing; only Metadata creates values.
package jsonmeta

import (
	"bytes"
	"hash/maphash"
	"slices"
	"strconv"

	"github.com/weightmap/weightmap/tensor"
)

// MaxDepth is the default limit on the nesting of objects and arrays, including the outermost
// object.
const MaxDepth = 1000

// Options are the differences between formats.
type Options struct {
	// LoneSurrogates accepts escapes of unpaired surrogates such as \ud800, except in the keys of
	// the outermost object.
	LoneSurrogates bool
	// MaxDepth replaces the package's MaxDepth if it is not 0.
	MaxDepth int
	// Entries, if not nil, is called with the number of keys and may return an error. If there are
	// many, it is called before memory for their list is allocated.
	Entries func(n int) error
	// Walk, if not nil, parses the value of the key Key in the outermost object.
	Key  string
	Walk func(s *Scanner) error
}

// checked are the options for texts that Check has accepted.
var checked = Options{LoneSurrogates: true}

// EntryBytes is the memory that Metadata needs for an entry, without its text.
const EntryBytes = 64

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

// Check returns an error unless b is one JSON object, as the package comment describes.
func Check(b []byte, o Options) error { return new(Checker).Check(b, o) }

// Checker validates JSON objects and records the positions of their keys and values. It reuses its
// memory.
type Checker struct {
	s      Scanner
	b      []byte
	pairs  []pair
	hashes []uint64 // of the keys
	null   int      // offset of a key with a NUL character, or -1
	room   struct { // for the first keys, to avoid allocation
		pairs  [4]pair
		hashes [4]uint64
	}
}

// pair holds the offsets of a key and of its value.
type pair struct{ key, from, to uint32 }

var seed = maphash.MakeSeed()

// manyKeys is the number of keys from which on keys are counted before they are listed.
const manyKeys = 4096

// count calls o.Entries with the number of keys of an object with manyKeys or more, and allocates
// room for all.
func (c *Checker) count(b []byte, o Options) error {
	n, s := 0, NewScanner(b, o)
	_ = s.Object(func([]byte, int) error { n++; return s.Skip() }) // an error is reported by the walk in progress
	if err := o.Entries(n); err != nil {
		return err
	}
	more := max(0, n-len(c.pairs))
	c.pairs, c.hashes = slices.Grow(c.pairs, more), slices.Grow(c.hashes, more)
	return nil
}

// Check is like the function Check, and records keys and values.
func (c *Checker) Check(b []byte, o Options) error {
	err := c.walk(b, o)
	if err == nil && c.null >= 0 {
		err = &Error{int64(c.null), "a key contains a NUL character"}
	}
	if err == nil && o.Entries != nil && len(c.pairs) < manyKeys {
		err = o.Entries(len(c.pairs))
	}
	if err == nil {
		err = c.unique()
	}
	return err
}

// walk records the keys and values of b.
func (c *Checker) walk(b []byte, o Options) error {
	c.s, c.null = NewScanner(b, o), -1
	s := &c.s
	err := c.object(s, func(key []byte, at int) error {
		if s.escaped {
			strict := Scanner{b: b, i: at}
			if _, err := strict.text(); err != nil {
				return err
			}
			if c.null < 0 && bytes.IndexByte(key, 0) >= 0 {
				c.null = at
			}
		}
		if len(c.pairs) == manyKeys-1 && o.Entries != nil {
			if err := c.count(b, o); err != nil {
				return err
			}
		}
		if o.Walk != nil && string(key) == o.Key {
			return o.Walk(s)
		}
		return s.Skip()
	})
	if err == nil {
		err = s.End()
	}
	return err
}

// object parses an object; each parses the values.
func (c *Checker) object(s *Scanner, each func(key []byte, at int) error) error {
	if c.hashes == nil {
		c.hashes, c.pairs = c.room.hashes[:0], c.room.pairs[:0]
	}
	c.b, c.hashes, c.pairs = s.b, c.hashes[:0], c.pairs[:0]
	return s.Object(func(key []byte, at int) error {
		from := s.i
		err := each(key, at)
		c.hashes = append(c.hashes, maphash.Bytes(seed, key))
		c.pairs = append(c.pairs, pair{uint32(at), uint32(from), uint32(s.i)})
		return err
	})
}

// key returns the unescaped key of p.
func (c *Checker) key(p pair) []byte {
	s := Scanner{b: c.b, i: int(p.key), o: checked}
	raw, _ := s.text()
	return s.plain(raw)
}

// unique fails on duplicate keys.
func (c *Checker) unique() error {
	slices.Sort(c.hashes)
	for i := 1; i < len(c.hashes); i++ {
		if c.hashes[i-1] != c.hashes[i] || i > 1 && c.hashes[i-2] == c.hashes[i] {
			continue
		}
		var same [][]byte // different keys with the same hash
		for _, p := range c.pairs {
			key := c.key(p)
			if maphash.Bytes(seed, key) != c.hashes[i] {
				continue
			}
			if slices.ContainsFunc(same, func(k []byte) bool { return bytes.Equal(k, key) }) {
				return &Error{int64(p.key), "a key occurs twice"}
			}
			same = append(same, key)
		}
	}
	return nil
}
