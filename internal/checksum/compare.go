package checksum

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/wire"
	"github.com/weightmap/weightmap/tensor"
)

// Files computes checksums of the files of a model. Without a part, nothing is counted as done.
type Files interface {
	// Hash returns the checksum of a range.
	Hash(k driver.Kind, n driver.Space, off, size int64, part string) (uint64, error)
	// Feed writes a range to h.
	Feed(h io.Writer, n driver.Space, off, size int64, part string) error
	// Content returns the checksum of the decoded content of s.
	Content(s *driver.Sum) (uint64, error)
}

// source computes checksums of files or, without them, of memory that Parse has read at an offset,
// or that is the content of a sum.
type source struct {
	files Files
	data  []byte
	off   int64
}

// hash returns the checksum of a range.
func (from *source) hash(k driver.Kind, r driver.Range, part string) (uint64, error) {
	if from.files != nil {
		return from.files.Hash(k, r.Space, r.Offset, r.Size, part)
	}
	b, err := from.at(r)
	return Of(k, b), err
}

// feed writes a range to h.
func (from *source) feed(h io.Writer, r driver.Range, part string) error {
	if from.files != nil {
		return from.files.Feed(h, r.Space, r.Offset, r.Size, part)
	}
	b, err := from.at(r)
	if err != nil {
		return err
	}
	_, err = h.Write(b)
	return err
}

// content returns the checksum of the content of s.
func (from *source) content(s *driver.Sum, k driver.Kind) (uint64, error) {
	if from.files != nil {
		return from.files.Content(s)
	}
	return Of(k, from.data), nil
}

// at returns the bytes of a range in memory.
func (from *source) at(r driver.Range) ([]byte, error) {
	if r.Offset < from.off || r.Size < 0 || r.Size > int64(len(from.data))-(r.Offset-from.off) {
		return nil, fmt.Errorf("%w: the driver compares %d bytes at %d with %d at %d", tensor.ErrCorrupt, r.Size, r.Offset, len(from.data), from.off)
	}
	return from.data[r.Offset-from.off:][:r.Size], nil
}

// Compare compares the digests of s, and then those of its other forms, with files until one is
// right. It returns the number of that one. An error names the field of the digest, and no file.
func Compare(files Files, s *driver.Sum) (form int, err error) {
	return compare(&source{files: files}, s)
}

// CompareMemory is Compare for bytes that Parse has read at an offset, or that are the content of
// s.
func CompareMemory(data []byte, off int64, s *driver.Sum) (form int, err error) {
	return compare(&source{data: data, off: off}, s)
}

// compare is Compare.
func compare(from *source, s *driver.Sum) (form int, err error) {
	computed := "" // of the first form
	part := s.Name
	for f := s; f != nil; f = f.Or {
		for i := range f.Accept {
			d := &f.Accept[i]
			equal, text, err := compareDigest(from, f, d, part)
			if err != nil {
				return 0, locate(d, err)
			}
			if equal {
				return form, nil
			}
			if form == 0 {
				computed = text
			}
			part = "" // the bytes were counted
			form++
		}
	}
	return 0, mismatch(s, computed)
}

// locate adds the place of a digest to an error that has none.
func locate(d *driver.Digest, err error) error {
	var located *tensor.Error
	if d.Field == "" || errors.As(err, &located) && located.Field != "" {
		return err
	}
	return wire.Error("", d.Field, d.Offset, err)
}

// mismatch returns the error for a checksum of which no form is right. computed is what the bytes
// have in the first form.
func mismatch(s *driver.Sum, computed string) error {
	d := &s.Accept[0]
	field := d.Field
	at := d.Offset
	if field == "" {
		field = s.Name
		if len(s.Ranges) > 0 {
			at = s.Ranges[0].Offset
		}
	}
	return wire.Errorf("", field, at, tensor.ErrChecksum, "the file records %s for the %s, which has %s", recorded(d), s.Name, computed)
}

// recorded returns a digest in hexadecimal.
func recorded(d *driver.Digest) string {
	if d.Hash != nil {
		return fmt.Sprintf("%x", d.Bytes)
	}
	return Hex(d.Kind, d.Want)
}

// Hex returns a checksum in hexadecimal.
func Hex(k driver.Kind, sum uint64) string {
	if k == driver.XXH64 {
		return fmt.Sprintf("%016x", sum)
	}
	return fmt.Sprintf("%08x", sum)
}

// compareDigest compares a digest of s. If that is wrong, it returns a text that says what was
// computed.
func compareDigest(from *source, s *driver.Sum, d *driver.Digest, part string) (equal bool, text string, err error) {
	if d.Hash != nil || d.Kind == driver.XXH64 && s.Content == nil {
		got, err := fedDigest(from, s, d, part)
		if err != nil {
			return false, "", err
		}
		want := d.Bytes
		if d.Hash == nil {
			want = be64(d.Want)
		}
		if bytes.Equal(got, want) {
			return true, "", nil
		}
		return false, fmt.Sprintf("%s %x", d.Name(), got), nil
	}
	var got uint64
	if s.Content != nil {
		got, err = from.content(s, d.Kind)
	} else {
		got, err = combinedDigest(from, s, d, part)
	}
	if err != nil {
		return false, "", err
	}
	if got == d.Want {
		return true, "", nil
	}
	return false, d.Name() + " " + Hex(d.Kind, got), nil
}

// be64 returns the bytes that the hash of XXH64 has for a sum.
func be64(sum uint64) []byte {
	b := make([]byte, 8)
	for i := range b {
		b[i] = byte(sum >> (56 - 8*i))
	}
	return b
}

// fedDigest returns the digest of the ranges of s, which are written to a hash in order.
func fedDigest(from *source, s *driver.Sum, d *driver.Digest, part string) ([]byte, error) {
	var to io.Writer
	var sum func() []byte
	if d.Hash != nil {
		state := d.Hash.New()
		to = state
		sum = func() []byte { return state.Sum(nil) }
	} else {
		state := New(d.Kind)
		to = &state
		sum = func() []byte { return be64(state.Sum64()) }
	}
	err := EachRange(s, func(r driver.Range, zeroed bool) error {
		if zeroed {
			_, err := to.Write(make([]byte, r.Size))
			return err
		}
		return from.feed(to, r, part)
	})
	if err != nil {
		return nil, err
	}
	return sum(), nil
}

// combinedDigest returns the checksum of the ranges of s, of a kind that can be combined.
func combinedDigest(from *source, s *driver.Sum, d *driver.Digest, part string) (uint64, error) {
	all := Empty(d.Kind)
	err := EachRange(s, func(r driver.Range, zeroed bool) error {
		if zeroed {
			all = Update(d.Kind, all, make([]byte, r.Size))
			return nil
		}
		one, err := from.hash(d.Kind, r, part)
		all = Combine(d.Kind, all, one, r.Size)
		return err
	})
	return all, err
}

// EachRange calls f for the ranges of s, and tells those that count as zeros, which are a few
// bytes.
func EachRange(s *driver.Sum, f func(r driver.Range, zeroed bool) error) error {
	for _, r := range s.Ranges {
		end := r.Offset + r.Size
		for _, z := range s.Zeroed {
			if z.Space != r.Space || z.Offset < r.Offset || z.Offset+z.Size > end {
				continue
			}
			before := driver.Range{Space: r.Space, Offset: r.Offset, Size: z.Offset - r.Offset}
			if err := f(before, false); err != nil {
				return err
			}
			if err := f(z, true); err != nil {
				return err
			}
			r.Offset = z.Offset + z.Size
			r.Size = end - r.Offset
		}
		if err := f(r, false); err != nil {
			return err
		}
	}
	return nil
}
