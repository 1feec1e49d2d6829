package safetensors

import (
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/expect"
)

// fileOf assembles a file from its header and its buffer.
func fileOf(header string, data ...byte) []byte {
	b := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
	return append(append(b, header...), data...)
}

// count returns the bytes 0, 1, 2, and so on.
func count(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i)
	}
	return b
}

// open opens a valid file.
func open(t testing.TB, b []byte) *format.Model {
	t.Helper()
	f, err := openBytes(b, nil)
	expect.OK(t, err)
	t.Cleanup(func() { f.Close() })
	return f
}

// save writes files into a directory and returns the path of the first.
func save(t testing.TB, dir string, files ...any) string {
	t.Helper()
	for i := 0; i < len(files); i += 2 {
		path := filepath.Join(dir, filepath.FromSlash(files[i].(string)))
		b, ok := files[i+1].([]byte)
		if !ok {
			b = []byte(files[i+1].(string))
		}
		expect.OK(t, errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, b, 0o644)))
	}
	return filepath.Join(dir, files[0].(string))
}
