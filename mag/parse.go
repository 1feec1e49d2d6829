package mag

import (
	"errors"
	"sync"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/wire"
)

// parsed is what is kept of an open file besides its index.
type parsed struct {
	src      driver.Source
	index    *driver.Index
	memory   *driver.Memory
	snapshot bool
	end      int64    // of the structural part: header and records
	dataEnd  int64    // of the last tensor data
	form     sumForm  // of version 1's checksum, when it was checked
	digests  []uint64 // by tensor, then what the metadata holds under their keys; nil when there are none
	meta     []byte   // ordinary metadata records, back to back
	entries  int      // number of records in meta
	stamp    uint64   // snapshot: Unix seconds
}

// parse reads the structure of either container.
func parse(src driver.Source, x *driver.Index, o *driver.Options) (*parsed, error) {
	s := structures.Get().(*structure)
	defer structures.Put(s)
	s.b, s.src, s.most, s.memory = s.b[:0], src, min(src.Size(), driver.MaxStructure), o.Memory
	defer s.release()
	head, err := s.upTo(min(snapHeader+int64(len(markerPool)), src.Size()))
	if err != nil {
		return nil, err
	}
	c := wire.NewCursor(formatName, head, 0)
	if m := c.Bytes("magic", uint64(len(magic))); c.Err() == nil && string(m) != magic {
		return nil, wire.Errorf(formatName, "magic", 0, format.ErrMagic, "% x instead of %q", m, magic)
	}
	version := c.U32("version")
	if c.Err() != nil {
		return nil, c.Err()
	}
	f := &parsed{src: src, index: x, memory: o.Memory}
	switch version {
	case wordV1:
		return f, f.parseV1(s, head, o)
	case wordSnapshot:
		c.Seek("string pool", snapHeader)
		if m := c.Bytes("string pool", uint64(len(markerPool))); c.Err() == nil && string(m) != markerPool {
			return nil, wire.Errorf(formatName, "version", 4, format.ErrVersion,
				"100 without %q at byte 32: a development build wrote this, and its dtype codes are ambiguous", markerPool)
		}
		if c.Err() != nil {
			return nil, c.Err()
		}
		return f, f.parseSnapshot(s, head, o)
	}
	return nil, wire.Errorf(formatName, "version", 4, format.ErrVersion, "%d; known are 1 and 100 (0.1.0)", version)
}

// structure is the beginning of a file in private memory, so that nothing that
// was checked changes when another process writes to the file.
type structure struct {
	b      []byte
	src    driver.Source
	most   int64  // that may be read
	extent extent // of version 1

	memory  *driver.Memory
	counted int64 // in memory
}

// release takes back what was counted.
func (s *structure) release() {
	s.memory.Release(s.counted)
	s.memory, s.counted = nil, 0
}

var structures = sync.Pool{New: func() any { return &structure{b: make([]byte, 0, initialWindow)} }}

// upTo returns the first n bytes of the file, or more.
func (s *structure) upTo(n int64) ([]byte, error) {
	have := len(s.b)
	if n <= int64(have) {
		return s.b, nil
	}
	if err := s.memory.Reserve(n - s.counted); err != nil {
		return nil, wire.Error(formatName, "header", -1, err)
	}
	s.counted = n
	if n > int64(cap(s.b)) {
		if err := wire.Prove(s.src, n); err != nil {
			return nil, err
		}
		s.b = append(make([]byte, 0, n), s.b...)
	}
	if _, err := s.src.ReadAt(s.b[have:n], int64(have)); err != nil {
		return nil, err
	}
	s.b = s.b[:n]
	return s.b, nil
}

// errMore says that a beginning of the file ends before the structural part does.
var errMore = errors.New("more of the file is needed")

// measurer finds the end of a structural part.
type measurer interface {
	// measure looks at b, the beginning of a file; it answers errMore when that
	// ends too early, unless it is the last of the file.
	measure(b []byte, last bool) error
	// guess estimates where the structural part ends, from what was measured.
	guess() int64
}

// grow has m measure longer and longer beginnings of the file until one holds
// the whole structural part, and returns that. The counts in the header have been
// compared with the size of the file before.
func (s *structure) grow(m measurer) ([]byte, error) {
	window := int64(firstWindow)
	if !s.src.InMemory() {
		window = min(max(m.guess(), initialWindow), 16*initialWindow)
	}
	for {
		window = min(window, s.most)
		b, err := s.upTo(window)
		if err != nil {
			return nil, err
		}
		err = m.measure(b, window == s.src.Size())
		switch {
		case err == nil:
			return b, nil
		case err != errMore:
			return nil, err
		case window == s.most:
			return nil, wire.Errorf(formatName, "header", -1, format.ErrLimit, "header and records are larger than %d bytes", s.most)
		}
		// A guess goes by what a file claims: it is followed step by step.
		window = min(max(m.guess(), window+window/2), 16*window)
	}
}

// checkCount compares the number of tensors in the header with the limit, and
// the least number of bytes that all records take with the size of the file.
func (f *parsed) checkCount(field string, at int64, n uint32, least uint64, o *driver.Options) error {
	if uint64(n) > uint64(driver.MaxTensors) {
		return wire.Errorf(formatName, field, at, format.ErrLimit, "%d tensors, at most %d are allowed", n, driver.MaxTensors)
	}
	if least > uint64(f.src.Size()) {
		return wire.Errorf(formatName, field, at, format.ErrTruncated, "%d tensors, with all else, take at least %d bytes; the file has %d", n, least, f.src.Size())
	}
	return nil
}

// notes lists what is tolerable but worth knowing.
func (f *parsed) notes() []string {
	var notes []string
	if n := f.form.note(); n != "" {
		notes = append(notes, n)
	}
	end, _ := wire.AlignUp(f.dataEnd, dataAlign)
	if f.index.Len() == 0 {
		end = f.end
	}
	if n := f.src.Size() - end; n > 0 && !f.snapshot {
		notes = append(notes, plural(n, "byte follows", "bytes follow")+" the last tensor")
	}
	missing := 0
	for i := range f.index.Len() {
		if !f.hasDigest(i) {
			missing++
		}
	}
	if missing > 0 {
		notes = append(notes, plural(int64(missing), "tensor has", "tensors have")+" no digest: the data cannot be checked")
	}
	return notes
}

// TensorSum implements driver.Parsed.
func (f *parsed) TensorSum(i int) driver.Sum {
	if !f.hasDigest(i) {
		return driver.Sum{}
	}
	return driver.Sum{Kind: driver.XXH64, Want: f.digests[i]}
}

// Verify implements driver.Parsed: it checks the checksum in the header again.
func (f *parsed) Verify(v driver.Verification) error {
	n := f.end
	if f.snapshot {
		n -= int64(len(markerBuffer))
	}
	b, err := f.src.Slice(0, n)
	if err != nil {
		return err
	}
	if f.snapshot {
		v.Section("header and descriptors", "crc32c")
		return checkSnapshot(b)
	}
	form, err := checkV1(b)
	v.Section("header and records", form.kind())
	return err
}
