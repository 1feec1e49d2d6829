package mobi

import (
	"bytes"
	"errors"
	"testing"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
)

func openRemote(t *testing.T, b []byte) *File {
	t.Helper()
	f, err := OpenReaderAt(bytes.NewReader(b), int64(len(b)), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

func cut(b []byte, n int) []byte { return b[:len(b)-n] }

func flipped(b []byte, fromEnd int) []byte {
	b[len(b)-fromEnd] ^= 1
	return b
}

// TestRefusedAt checks the offsets of errors, and limits with a reader of zeros.
func TestRefusedAt(t *testing.T) {
	at := func(err error) int64 {
		var e *format.Error
		if !errors.As(err, &e) {
			return -2
		}
		return e.Offset
	}
	_, err := OpenBytes(more(recordOf(1, 2, []uint64{1, 1 << 63}, nil)), nil)
	wantError(t, err, format.ErrCorrupt, "constant 1 shape")
	if got := at(err); got != atGraph+16 {
		t.Errorf("the second dim is refused at %d", got)
	}
	// One byte that begins like gzip, and a record that continues like it.
	_, err = OpenBytes(more(recordOf(1, 2, []uint64{5}, []byte{0x1F}), recordOf(0x8B, 2, nil, []byte{1})), nil)
	wantError(t, err, format.ErrCorrupt, "constant 1 data size")

	const size = driver.MaxStructure + 100
	h := le("IBOM", uint16(1), uint16(0), uint32(0), []uint32{0, size, 32, 56, 56})
	_, err = OpenReaderAt(zeros{h}, size, nil)
	wantError(t, err, format.ErrLimit, "metadata and operator graph")
}

// zeros is an io.ReaderAt of a header followed by zeros.
type zeros struct{ head []byte }

func (z zeros) ReadAt(p []byte, off int64) (int, error) {
	if off < int64(len(z.head)) {
		copy(p, z.head[off:])
	}
	return len(p), nil
}
