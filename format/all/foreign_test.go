package all_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/internal/foreign"
	"github.com/weightmap/weightmap/tensor"
)

// strangers are files that no format reads, and what each is called.
var strangers = []struct{ name, content, want string }{
	{"a README", "# Model card\n\nA description.\n", "this is plain text, such as a README"},
	{"a README with a byte order mark", "\ufeff# Modèle\n\nUne description.\n", "this is plain text, such as a README"},
	{"text that is cut within a character", strings.Repeat("e", 261) + "é and more", "this is plain text, such as a README"},
	{"an HTML page", "\n<!DOCTYPE html>\n<html><body>Log in</body></html>\n", "this is a web page, not a model"},
	{"JSON", `{"architectures": ["BertModel"]}`, "this is a JSON file"},
	{"a Git LFS pointer", "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 9\n", "this is a Git LFS pointer"},
	{"HDF5", "\x89HDF\r\n\x1a\n\x00\x00\x00\x00\x00\x08\x08\x00", "this is an HDF5 file"},
	{"gzip", "\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03", "this is compressed with gzip: unpack it first"},
	{"zstd", "\x28\xb5\x2f\xfd\x04\x00\x41\x00\x00", "this is compressed with zstd: unpack it first"},
	{"tar", "README" + strings.Repeat("\x00", 251) + "ustar\x0000", "this is a tar archive: unpack it first"},
	{"TensorFlow Lite", "\x1c\x00\x00\x00TFL3\x14\x00\x20\x00", "this is a TensorFlow or TensorFlow Lite model"},
	{"an ONNX tensor", "\x08\x02\x08\xac\x02\x10\x01\x42\x01x\x4a\x00", "this is an ONNX tensor, not a model"},
	{"an ONNX tensor without dims", "\x10\x07\x42\x01x\x4a\x08\x00\x00\x00\x00\x00\x00\x00\x00", "this is an ONNX tensor, not a model"},
	{"ggml", "lmgg\x00\x7d\x00\x00", "this is an old GGML file"},
}

// TestStrangers: what is no model is named by format.Open, and by each format's own.
func TestStrangers(t *testing.T) {
	for _, tt := range strangers {
		for _, name := range append([]string{""}, format.Formats()...) {
			refused(t, tt.name, []byte(tt.content), name, tt.want)
		}
	}
}

// TestOtherFormats: a format's own Open names the format that a file has.
func TestOtherFormats(t *testing.T) {
	for _, is := range format.Writable() {
		b := small(t, is)
		for _, name := range format.Formats() {
			if name != is {
				refused(t, is, b, name, "this is a model in the format "+is)
			}
		}
	}
}

// TestEndings: the table of packages that errors name for a forgotten import has each format and each ending.
func TestEndings(t *testing.T) {
	for _, name := range format.Formats() {
		if foreign.NoDriver(name) == nil {
			t.Errorf("%s is not in the table", name)
		}
		c, err := format.Lookup(name)
		expect.OK(t, err)
		for _, ending := range c.Extensions() {
			if got := foreign.ByEnding("m" + ending); got != name {
				t.Errorf("a file that ends in %s is of %q, want %q", ending, got, name)
			}
		}
	}
}

// small writes a model of one tensor.
func small(t *testing.T, name string) []byte {
	t.Helper()
	var b bytes.Buffer
	p := &format.Plan{Tensors: []tensor.Info{list(tensor.Float32, "1", 1)}}
	w, err := format.NewWriter(name, &b, p, nil)
	expect.OK(t, feed(p, w, err))
	return b.Bytes()
}

// refused opens content by the format called name, or by whatever claims it, as bytes and through a reader.
func refused(t *testing.T, what string, content []byte, name, want string) {
	t.Helper()
	o := &format.Options{Format: name}
	_, byBytes := format.OpenBytes(content, o)
	_, byReader := format.OpenReaderAt(bytes.NewReader(content), int64(len(content)), o)
	for _, err := range []error{byBytes, byReader} {
		if !errors.Is(err, format.ErrUnknownFormat) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s, opened as %q: %v, want %q", what, name, err, want)
		}
	}
}
