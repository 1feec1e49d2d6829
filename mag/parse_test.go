package mag

import (
	"bytes"
	"fmt"
	"testing"
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
