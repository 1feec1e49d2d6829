package format

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/tensor"
)

// externalTree makes a directory with files and links, some of which lead out of it, and returns its path.
func externalTree(t *testing.T) string {
	t.Helper()
	top := t.TempDir()
	dir := filepath.Join(top, "model")
	expect.OK(t, os.MkdirAll(filepath.Join(dir, "sub"), 0o755))
	expect.OK(t, os.WriteFile(filepath.Join(top, "secret"), []byte("secret"), 0o644))
	expect.OK(t, os.WriteFile(filepath.Join(dir, "w.bin"), []byte("0123456789"), 0o644))
	expect.OK(t, os.WriteFile(filepath.Join(dir, "sub", "v.bin"), []byte("abc"), 0o644))
	for name, target := range map[string]string{"inside": "w.bin", "outside": "../secret", "up": ".."} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Skip("links cannot be made here: ", err)
		}
	}
	return dir
}

func TestExternalData(t *testing.T) {
	e := OpenExternalData(externalTree(t))
	defer e.Close()
	cases := []struct {
		location       string
		offset, length int64
		want           string
	}{
		{"w.bin", 2, 3, "234"},
		{"w.bin", 4, -1, "456789"},
		{"w.bin", 10, -1, ""},
		{"w.bin", 10, 0, ""},
		{"./sub/v.bin", 0, 3, "abc"},
		{"inside", 0, 2, "01"},
	}
	for _, c := range cases {
		t.Run(fmt.Sprint(c.location, c.offset, c.length), func(t *testing.T) {
			r, err := e.Range(c.location, c.offset, c.length)
			expect.OK(t, err)
			b, err := io.ReadAll(r)
			expect.OK(t, err)
			expect.Equal(t, c.want, string(b))
			expect.Equal(t, int64(len(c.want)), r.Size())
		})
	}
	refused := []struct {
		location       string
		offset, length int64
		want           error
	}{
		{"", 0, 1, ErrCorrupt},
		{"../secret", 0, 1, ErrCorrupt},
		{"sub/../../secret", 0, 1, ErrCorrupt},
		{"/etc/hosts", 0, 1, ErrCorrupt},
		{`..\secret`, 0, 1, ErrCorrupt},
		{"file:///etc/hosts", 0, 1, ErrCorrupt},
		{"outside", 0, 1, ErrUnsupported},
		{"up/secret", 0, 1, ErrUnsupported},
		{"sub", 0, 0, ErrCorrupt},
		{"missing", 0, 1, fs.ErrNotExist},
		{"w.bin", -1, 1, ErrCorrupt},
		{"w.bin", 0, -2, ErrCorrupt},
		{"w.bin", 5, 6, ErrTruncated},
		{"w.bin", 11, 0, ErrTruncated},
		{"w.bin", 11, -1, ErrTruncated},
		{"w.bin", 1 << 62, 1 << 62, ErrTruncated},
	}
	for _, c := range refused {
		r, err := e.Range(c.location, c.offset, c.length)
		expect.Refused(t, c.want, c.location, c.offset, c.length)(r, err)
	}
}

func TestExternalDataView(t *testing.T) {
	dir := externalTree(t)
	e := OpenExternalData(dir)
	section, err := e.Range("w.bin", 2, 4)
	expect.OK(t, err)
	v, err := tensor.FromReaderAt(tensor.Info{Name: "w", DType: tensor.Uint8, Shape: tensor.Shape{4}}, section)
	expect.OK(t, err)
	b, err := v.Bytes()
	expect.OK(t, err)
	expect.Equal(t, "2345", string(b))

	expect.OK(t, os.Truncate(filepath.Join(dir, "w.bin"), 3))
	_, err = v.Bytes()
	expect.Refused(t, ErrTruncated)(nil, err)
	expect.OK(t, e.Close())
	expect.OK(t, e.Close())
	_, err = v.Bytes()
	expect.Refused(t, ErrClosed)(nil, err)
	_, err = e.Range("w.bin", 0, 1)
	expect.Refused(t, ErrClosed)(nil, err)
}

func TestExternalDataLimit(t *testing.T) {
	dir := t.TempDir()
	e := OpenExternalData(dir)
	defer e.Close()
	expect.OK(t, os.WriteFile(filepath.Join(dir, "w"), []byte("w"), 0o644))
	for i := range mostExternal { // as if they were open
		e.opened[fmt.Sprint(i)] = &externalFile{File: closed{}}
	}
	_, err := e.Range("w", 0, 1)
	expect.Refused(t, ErrLimit)(nil, err)
}

// closed is a file that is nothing.
type closed struct{ fs.File }

func (closed) Close() error { return nil }
