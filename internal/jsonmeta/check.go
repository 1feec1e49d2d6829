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
	// Entries, if not nil, is told how many keys Check found, and may refuse: before there is
	// a list of them where they are many.
	Entries func(n int) error
	// Walk, if not nil, walks the value of the outermost object's key Key.
	Key  string
	Walk func(s *Scanner) error
}

// checked is for texts that Check accepts.
var checked = Options{LoneSurrogates: true}

// EntryBytes is the memory that Metadata takes for an entry, without its text.
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

// Checker walks the object of a text, and knows where its keys and values are. It walks many
// texts and uses its memory again.
type Checker struct {
	s      Scanner
	b      []byte
	pairs  []pair
	hashes []uint64 // of the keys
	null   int      // where a key with a NUL character is, -1 for none
	room   struct { // for the first keys
		pairs  [4]pair
		hashes [4]uint64
	}
}

// pair is where a key and its value are.
type pair struct{ key, from, to uint32 }

var seed = maphash.MakeSeed()

// manyKeys are counted before more are listed.
const manyKeys = 4096

// count is told how many keys an object has that has manyKeys of them at least, and makes room for all.
func (c *Checker) count(b []byte, o Options) error {
	n, s := 0, NewScanner(b, o)
	_ = s.Object(func([]byte, int) error { n++; return s.Skip() }) // the walk that goes on says what is wrong
	if err := o.Entries(n); err != nil {
		return err
	}
	more := max(0, n-len(c.pairs))
	c.pairs, c.hashes = slices.Grow(c.pairs, more), slices.Grow(c.hashes, more)
	return nil
}

// Check is the package's Check.
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

// walk finds the pairs of b.
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

// object walks an object; each walks the values.
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

// key returns what a key stands for.
func (c *Checker) key(p pair) []byte {
	s := Scanner{b: c.b, i: int(p.key), o: checked}
	raw, _ := s.text()
	return s.plain(raw)
}

// unique refuses keys that occur twice.
func (c *Checker) unique() error {
	slices.Sort(c.hashes)
	for i := 1; i < len(c.hashes); i++ {
		if c.hashes[i-1] != c.hashes[i] || i > 1 && c.hashes[i-2] == c.hashes[i] {
			continue
		}
		var same [][]byte // different keys with that hash
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
