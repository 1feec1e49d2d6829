package formattest

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/expect"
)

// rewrite checks that writing the model read gives the same model and the same bytes.
func (x *subject) rewrite(t *testing.T) {
	m := x.openBytes(t, x.file)
	defer m.Close()
	p, err := schemaOf(m)
	expect.OK(t, err)
	var out bytes.Buffer
	w, err := format.NewWriter(&out, p, x.options(format.SpoolMemory))
	expect.OK(t, err)
	expect.OK(t, w.WriteModel(m))
	expect.OK(t, w.Close())
	x.same(t, "written again", out.Bytes())
}

// same checks that b equals the sample's file, or has the same content if bytes may differ.
func (x *subject) same(t *testing.T, what string, b []byte) {
	t.Helper()
	if bytes.Equal(x.file, b) {
		return
	}
	m := x.openBytes(t, b)
	defer m.Close()
	x.differs(t, what, m)
	if !x.s.Random {
		t.Fatalf("%s: these %d bytes differ from the first %d", what, len(b), len(x.file))
	}
}

// targets checks that a file, a spool and a stream receive the same bytes, in whatever order
// tensors arrive, and that no other file remains.
func (x *subject) targets(t *testing.T) {
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	backwards := names(x.s.Schema)
	slices.Reverse(backwards)
	x.same(t, "spooled", x.written(t, nil, format.SpoolFile))
	x.same(t, "written in reverse", x.written(t, backwards, format.SpoolMemory))
	path := x.path(t)
	expect.OK(t, x.writeFile(x.write.Format, path, nil))
	x.same(t, "file", expect.Read(t, path))
	x.streamed(t)
	for _, dir := range []string{tmp, filepath.Dir(path)} {
		if left := listing(t, dir, filepath.Base(path)); len(left) > 0 {
			t.Errorf("left behind: %v", left)
		}
	}
}

// streamed checks that a writer without a spool streams the same bytes, with tensors in the
// schema's or the file's order, or fails before it writes any.
func (x *subject) streamed(t *testing.T) {
	m := x.openBytes(t, x.file)
	defer m.Close()
	orders := [][]string{names(x.s.Schema)}
	if x.cfg.Reorders {
		orders = append(orders, tensorNames(m))
	}
	for _, order := range orders {
		var out bytes.Buffer
		w, err := format.NewWriter(&out, x.s.Schema, x.options(format.SpoolNever))
		if err == nil {
			err = x.feed(w, order, nil)
		}
		if err == nil {
			x.same(t, "streamed", out.Bytes())
			return
		}
		if !errors.Is(err, format.ErrUnsupported) {
			t.Errorf("refusal to stream is not ErrUnsupported: %v", err)
		}
		if out.Len() > 0 && !errors.Is(err, driver.ErrSequential) {
			t.Errorf("%d bytes were written before the refusal", out.Len())
		}
	}
}

// listing returns the names in dir other than but.
func listing(t *testing.T, dir, but string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	expect.OK(t, err)
	var names []string
	for _, e := range entries {
		if e.Name() != but {
			names = append(names, e.Name())
		}
	}
	return names
}

// foreignHeads are the beginnings of files of other formats and of other kinds.
var foreignHeads = map[string]string{
	"empty": "", "text": "a text of many words, such as this one", "JSON": "{\"a\": 1}", "zip": "PK\x03\x04\x14\x00\x00\x00\x08\x00",
	"gzip": "\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03", "zstd": "\x28\xb5\x2f\xfd\x04\x00", "PNG": "\x89PNG\r\n\x1a\n", "ELF": "\x7fELF\x02\x01\x01",
	"npy": "\x93NUMPY\x01\x00v\x00{'descr': '<f4'", "GGUF": "GGUF", "HDF5": "\x89HDF\r\n\x1a\n", "PDF": "%PDF-1.7",
}

// detect checks that the format detects its file by content, and no other file.
func (x *subject) detect(t *testing.T) {
	head := x.file[:min(len(x.file), driver.SniffLen)]
	size := int64(len(x.file))
	if !x.cfg.Format.Driver().Detect(head, size) {
		t.Errorf("Detect does not detect the file")
	}
	claims := func(what string, b []byte) {
		for _, n := range []int64{int64(len(b)), size, 1 << 40} {
			if x.cfg.Format.Driver().Detect(b, n) {
				t.Errorf("Detect claims %s, of %d bytes", what, n)
			}
		}
	}
	for name, s := range foreignHeads {
		own := strings.EqualFold(name, x.cfg.name()) || s != "" && bytes.HasPrefix(head, []byte(s))
		if !own {
			claims(name, []byte(s))
			claims(name+" and zeros", append([]byte(s), make([]byte, driver.SniffLen-len(s))...))
		}
	}
	claims("ones", bytes.Repeat([]byte{0xff}, driver.SniffLen))
	for n := range len(head) {
		survives(t, "Detect of a short head", func() { x.cfg.Format.Driver().Detect(head[:n], int64(n)) })
	}
}
