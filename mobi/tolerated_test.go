package mobi

import (
	"bytes"
	"errors"
	"testing"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/testhost"
)

func openRemote(t *testing.T, b []byte) *File {
	t.Helper()
	f, err := OpenReaderAt(bytes.NewReader(b), int64(len(b)), nil)
	testhost.Must(t, err)
	t.Cleanup(func() { f.Close() })
	return f
}

func cut(b []byte, n int) []byte { return b[:len(b)-n] }

func flipped(b []byte, fromEnd int) []byte {
	b[len(b)-fromEnd] ^= 1
	return b
}

// TestStructureLimit checks that a structure too large for memory is refused.
func TestStructureLimit(t *testing.T) {
	const size = driver.MaxStructure + 100
	h := le("IBOM", uint16(1), uint16(0), uint32(0), []uint32{0, size, 32, 56, 56})
	_, err := OpenReaderAt(zeros{h}, size, nil)
	var e *format.Error
	if !errors.Is(err, format.ErrLimit) || !errors.As(err, &e) || e.Field != "metadata and operator graph" {
		t.Error(err)
	}
}

// zeros is an io.ReaderAt of a header followed by zeros.
type zeros struct{ head []byte }

func (z zeros) ReadAt(p []byte, off int64) (int, error) {
	if off < int64(len(z.head)) {
		copy(p, z.head[off:])
	}
	return len(p), nil
}
