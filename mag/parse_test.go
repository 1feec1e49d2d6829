package mag

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
)

// manyEntries returns a file with n metadata entries and n tensors of one byte.
func manyEntries(n int) []byte {
	f := v1File{magic: "MAG!", version: 1}
	end := uint64(24 + n*(16+8+20+8+4+8))
	for i := range n {
		f.metadata = append(f.metadata, v1Entry{1, uint64(i), fmt.Sprintf("m%07d", i)})
		f.tensors = append(f.tensors, v1Tensor{aux: [4]byte{2, 1}, numel: 1, offset: end, shape: []uint64{1}, key: fmt.Sprintf("t%07d", i)})
	}
	f.tail = []byte{1}
	return f.bytes()
}

// counter counts the bytes read through it.
type counter struct {
	bytes.Reader
	n int64
}

func (c *counter) ReadAt(p []byte, off int64) (int, error) {
	c.n += int64(len(p))
	return c.Reader.ReadAt(p, off)
}

// TestWindow checks that a structural part of any size is read through a reader,
// and that little more than twice its size is fetched.
func TestWindow(t *testing.T) {
	for _, n := range []int{1, 255, 256, 257, 511, 512, 513, 5000} {
		b := append(manyEntries(n), make([]byte, 1<<20)...)
		c := &counter{Reader: *bytes.NewReader(b)}
		f, err := OpenReaderAt(c, int64(len(b)), nil)
		if err != nil {
			t.Fatal(err)
		}
		if f.Len() != n || len(f.Metadata()) != n {
			t.Errorf("%d entries: %d tensors, %d metadata", n, f.Len(), len(f.Metadata()))
		}
		if most := max(4*f.f.end, 32<<10); c.n > most {
			t.Errorf("%d entries: %d bytes fetched, header and records have %d", n, c.n, f.f.end)
		}
	}
}

// TestHugeClaim checks that a header with impossible counts costs one read.
func TestHugeClaim(t *testing.T) {
	f := v1File{magic: "MAG!", version: 1, numMeta: ptr(1 << 31)}
	b := append(f.bytes(), make([]byte, 1<<20)...)
	c := &counter{Reader: *bytes.NewReader(b)}
	if _, err := OpenReaderAt(c, int64(len(b)), nil); !errors.Is(err, format.ErrTruncated) {
		t.Error(err)
	}
	if c.n > 32<<10+driver.SniffLen { // SniffLen to detect other formats
		t.Errorf("%d bytes were fetched", c.n)
	}
}

// TestDigestOrder checks that digests are found in any order, and between other
// entries.
func TestDigestOrder(t *testing.T) {
	entries := []v1Entry{{1, 10, "a"}, {1, 21, "xxh64/y"}, {2, 3, "xxh64/none"}, {1, 20, "xxh64/x"}, {1, 11, "b"}}
	for shift := range entries {
		f := baseV1()
		f.metadata = append(append([]v1Entry{}, entries[shift:]...), entries[:shift]...)
		f.tensors[0].offset, f.tensors[1].offset = 320, 384
		m, err := OpenBytes(f.bytes(), nil)
		if err != nil {
			t.Fatal(err)
		}
		x, okX := m.Digest("x")
		y, okY := m.Digest("y")
		_, none := m.Digest("none")
		if x != 20 || y != 21 || !okX || !okY || none {
			t.Errorf("digests %d, %d", x, y)
		}
		if got := len(m.Metadata()); got != 3 {
			t.Errorf("%d ordinary entries: %v", got, m.Metadata())
		}
		if _, err := m.Verify(t.Context()); !errors.Is(err, format.ErrChecksum) {
			t.Errorf("wrong digests verify: %v", err)
		}
	}
}

// TestMetadataValues checks that values of both types keep all their bits.
func TestMetadataValues(t *testing.T) {
	f := v1File{magic: "MAG!", version: 1, metadata: []v1Entry{
		{1, 1<<64 - 1, "minus one"}, {1, 1 << 63, "least"}, {2, 0x3FF8000000000000, "1.5"}, {2, 1 << 63, "-0"},
	}}
	m, err := OpenBytes(f.bytes(), nil)
	if err != nil {
		t.Fatal(err)
	}
	want := format.Metadata{{Key: "minus one", Value: int64(-1)}, {Key: "least", Value: int64(-1 << 63)}, {Key: "1.5", Value: 1.5}, {Key: "-0", Value: 0.0}}
	if diff := cmp.Diff(want, m.Metadata()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	m.Close()
	if got := m.Metadata(); got != nil {
		t.Errorf("metadata after Close: %v", got)
	}
}

// TestNotes checks the notes about variants of the golden files.
func TestNotes(t *testing.T) {
	v1, base, snap := goldenV1(), baseV1(), baseSnapshot()
	base.tail = repeated(0, 61)
	var got [][]string
	for _, b := range [][]byte{v1.bytes(), base.bytes(), snap.bytes()} {
		f, err := OpenBytes(b, nil)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, f.Notes())
	}
	none := "2 tensors have no digest: the data cannot be checked"
	want := [][]string{nil, {"1 byte follows the last tensor", none}, {none, "2 tensors are not aligned: views are copies"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
