package npy

import (
	"errors"
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
