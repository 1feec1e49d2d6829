package npy

import (
	"errors"
	"fmt"
	"testing"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/wire"
	"github.com/weightmap/weightmap/internal/zip"
)

// TestDirectoryLimit: a directory larger than the limit is refused before any entry is read.
func TestDirectoryLimit(t *testing.T) {
	const from, size = 30, driver.MaxStructure + 1
	var end wire.Buffer
	zip.AppendEnd(&end, 1, size, from)
	src := &sparse{[]driver.Part{{Bytes: []byte(zip.LocalMagic)}, {Offset: from + size, Bytes: end.Bytes()}}, from + size + int64(end.Len())}
	var e *format.Error
	_, err := OpenReaderAt(src, src.size, nil)
	if !errors.Is(err, format.ErrLimit) || !errors.As(err, &e) || e.Field != "directory" || e.Offset != from {
		t.Error(err)
	}
}

// TestBytesBehindFullBuffer: what follows a deflated array is found, also when the
// array ends where a buffer does.
func TestBytesBehindFullBuffer(t *testing.T) {
	const blocks, most = 4, 64 << 10
	data := make([]byte, most-5*blocks-128)
	raw := npy(dict("|u1", "False", fmt.Sprintf("(%d,)", len(data))), data).bytes()
	y := stored1("y", raw)
	y.method, y.data = 8, nil
	for i := range blocks {
		n := len(raw) / blocks
		last := byte(i / (blocks - 1))
		y.data = append(y.data, last, byte(n), byte(n>>8), ^byte(n), ^byte(n>>8))
		y.data = append(y.data, raw[i*n:][:n]...)
	}
	if len(raw)%blocks != 0 || len(y.data) != most {
		t.Fatalf("%d bytes in %d", len(raw), len(y.data))
	}
	for behind, want := range []error{nil, format.ErrCorrupt} {
		m := y
		m.data = append(m.data, make([]byte, behind)...)
		m.packed = uint32(len(m.data))
		f, err := OpenBytes(archiveOf(m).bytes(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.At(0).Bytes(); !errors.Is(err, want) {
			t.Errorf("%d bytes behind: %v, want %v", behind, err, want)
		}
		f.Close()
	}
}
