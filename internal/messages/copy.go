package messages

import (
	"encoding/binary"
	"slices"
	"sort"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/memory"
	"github.com/weightmap/weightmap/tensor"
)

// Copy is the copy of a message in memory, without the data that is left out. It remembers where
// its bytes are in the Section. Begin it, append to it, and Finish it.
type Copy struct {
	memory   *driver.Memory
	reserved int64 // for text, and for cuts when the copy is finished
	room     int   // how many cuts memory is reserved for
	text     []byte
	cuts     []cut
}

// cut says that text from an offset on is from at in the section.
type cut struct {
	offset int
	at     int64
}

const (
	cutBytes  = 16      // of a cut in memory
	fewCuts   = 8       // that a copy has room for at first
	leastCopy = 4 << 10 // bytes of memory that a copy has at first
)

// Begin begins an empty copy, whose memory is counted in m.
func (c *Copy) Begin(m *driver.Memory) { c.memory = m }

// Reset makes the copy empty, but keeps its memory.
func (c *Copy) Reset() {
	c.text = c.text[:0]
	c.cuts = c.cuts[:0]
}

// Finish gives the copy memory of its size. Nothing may be appended any more.
func (c *Copy) Finish() error {
	size := int64(len(c.text) + cutBytes*len(c.cuts))
	err := c.memory.Reserve(size)
	if err != nil {
		c.Drop()
		return err
	}
	text := slices.Clone(c.text)
	cuts := slices.Clone(c.cuts)
	c.Drop()
	c.reserved = size
	c.text = text
	c.cuts = cuts
	return nil
}

// Drop ends a copy that is not used any more.
func (c *Copy) Drop() {
	c.memory.Release(c.reserved + cutBytes*int64(c.room))
	*c = Copy{memory: c.memory}
}

// Place adds field and place to an error about a copy of the current field, which is a message of a
// type. Other errors stay as they are.
func (s *Scan) Place(c *Copy, schema Schema, t Type, err error) error {
	e, ok := err.(*Error)
	if !ok {
		return err
	}
	at := s.At
	if e.At == OfMessage {
		e.At = 0
		e.Whole = true
	} else {
		at = c.At(e.At) + e.Skip
	}
	name := Join(s.Name(), schema.Path(t, c.Text(), e))
	return &Placed{Field: name, At: at, Err: e.Err}
}

// Keep appends the current field.
func (s *Scan) Keep(c *Copy) { s.kept(c.append(s.section, s.At, s.End)) }

// Replace appends bytes that stand for those at an offset of the section, in the current field.
func (s *Scan) Replace(c *Copy, b []byte, at int64) { s.kept(c.put(s.section, b, at)) }

// ReplaceWith appends a message with its length in the place of the current field. The copy does
// not know where the bytes of the message are.
func (s *Scan) ReplaceWith(c, message *Copy) {
	n := len(message.text)
	err := c.grow(s.section, 2*binary.MaxVarintLen64+int64(n))
	if err != nil {
		s.kept(err)
		return
	}
	err = c.cut(s.At)
	if err != nil {
		s.kept(err)
		return
	}
	c.text = append(AppendLength(c.text, s.Number, int64(n)), message.text...)
}

// kept ends the loop if a copy failed.
func (s *Scan) kept(err error) {
	e, ok := err.(*Error)
	if ok {
		e.At = s.At
		e.Skip = s.Value - s.At
		s.Fail(e)
		return
	}
	if err != nil {
		s.Stop(err)
	}
}

// append appends the bytes from..to of a section.
func (c *Copy) append(s *Section, from, to int64) error {
	n := to - from
	if n > int64(cap(c.text)-len(c.text)) {
		err := c.grow(s, n)
		if err != nil {
			return err
		}
	}
	err := c.cut(from)
	if err != nil {
		return err
	}
	i := from - s.at
	if i >= 0 && i+n <= int64(len(s.text)) {
		c.text = append(c.text, s.text[i:i+n]...)
		return nil
	}
	c.text, err = s.Append(c.text, from, to)
	return err
}

// put appends bytes that stand for those at an offset of a section.
func (c *Copy) put(s *Section, b []byte, at int64) error {
	err := c.grow(s, int64(len(b)))
	if err != nil {
		return err
	}
	err = c.cut(at)
	if err != nil {
		return err
	}
	c.text = append(c.text, b...)
	return nil
}

// cut remembers that the text continues with the byte at an offset of the section.
func (c *Copy) cut(at int64) error {
	n := len(c.cuts)
	if n > 0 && c.cuts[n-1].at+int64(len(c.text)-c.cuts[n-1].offset) == at {
		return nil
	}
	if n == c.room {
		err := c.growCuts(max(2*n, fewCuts))
		if err != nil {
			return err
		}
	}
	c.cuts = append(c.cuts, cut{len(c.text), at})
	return nil
}

// growCuts makes room for cuts. Until they are copied, the old memory counts too.
func (c *Copy) growCuts(room int) error {
	err := c.memory.Reserve(cutBytes * int64(room))
	if err != nil {
		return &Error{Err: err}
	}
	cuts := make([]cut, len(c.cuts), room)
	copy(cuts, c.cuts)
	c.cuts = cuts
	c.memory.Release(cutBytes * int64(c.room))
	c.room = room
	return nil
}

// grow reserves memory for n more bytes, which are no more than the section has. The copy never has
// room for more than driver.MaxStructure. Until the text is copied, the old memory counts too.
func (c *Copy) grow(s *Section, n int64) error {
	have := int64(len(c.text))
	if have+n > driver.MaxStructure {
		return Errorf(0, "", tensor.ErrLimit,
			"%d bytes that are not data, the limit is %d", have+n, int64(driver.MaxStructure))
	}
	if int(n) <= cap(c.text)-len(c.text) {
		return nil
	}
	size := max(have+n, min(max(2*have, leastCopy), s.Size, driver.MaxStructure))
	err := c.memory.Reserve(size)
	if err != nil {
		return &Error{Err: err}
	}
	text := make([]byte, have, size)
	copy(text, c.text)
	c.text = text
	c.memory.Release(c.reserved)
	c.reserved = size
	return nil
}

// Text returns the copy.
func (c *Copy) Text() string { return memory.String(c.text) }

// At returns the offset in the section of a byte of the copy.
func (c *Copy) At(offset int64) int64 {
	i := sort.Search(len(c.cuts), func(i int) bool { return int64(c.cuts[i].offset) > offset }) - 1
	if i < 0 {
		return 0
	}
	return c.cuts[i].at + offset - int64(c.cuts[i].offset)
}
