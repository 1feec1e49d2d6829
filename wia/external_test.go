package wia

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/external"
	"github.com/weightmap/weightmap/internal/onnxgraph"

	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/internal/testhost"
	"github.com/weightmap/weightmap/tensor"
)

// externalRecord returns a Tensor record with n bytes of data in another file.
func externalRecord(name, location string, off, n int64, sum string) []byte {
	return by(1, decl(name, 8, n), by(5, st(1, location), vi(2, off), vi(3, n), st(4, sum)))
}

func checksumText(b []byte) string {
	sum := sha256.Sum256(b)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// TestExternalNotThere checks that the error for missing external data has the
// offset of the tensor's message in the model, or of its block if that is
// compressed or encrypted.
func TestExternalNotThere(t *testing.T) {
	record := externalRecord("w", "nope", 0, 4, "")
	declared := by(5, decl("w", 8, 4), by(5, st(1, "nope"), vi(3, 4)))
	for _, c := range []struct {
		name string
		c    container
		want int64
	}{
		{"tensor block", container{tensor: record}, 256 + 2},
		{"after another", container{tensor: cat(by(1, inline("v", 8, []byte{1}, 1)), record)}, 256 + 2 + int64(len(inline("v", 8, []byte{1}, 1))) + 2},
		{"initializer", container{graph: declared}, 256 + 2},
		{"initializer in a compressed graph", container{meta: gz([]byte("{}")), graph: gz(declared), compression: 1}, 256 + int64(len(gz([]byte("{}"))))},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "model.wia")
			expect.OK(t, os.WriteFile(path, c.c.bytes(), 0o644))
			f, err := Open(path, nil)
			expect.OK(t, err)
			defer f.Close()
			_, err = f.Tensor("w")
			var located *tensor.Error
			if !errors.As(err, &located) || !errors.Is(err, fs.ErrNotExist) {
				t.Fatal(err)
			}
			expect.Equal(t, tensor.Error{Format: "wia", Path: path, Field: `tensor "w"`, Offset: c.want}, *located, cmpopts.IgnoreFields(tensor.Error{}, "Err"))
		})
	}
}

// TestLocations checks which locations are syntactically valid.
func TestLocations(t *testing.T) {
	for location, ok := range map[string]bool{
		"a": true, "./a": true, "a//b": true, "a/./b": true, "a b": true, "..a": true, "a..": true, "...": true, "conv:0": true, "größe": true, ".hidden": true,
		"a/..b/c": true, "layer:0/w": true,
		"": false, "/a": false, "//a": false, "..": false, "../a": false, "a/../b": false, "a/..": false, `a\b`: false, `\a`: false, `..\a`: false,
		"C:": false, "C:a": false, "c:/a": false, "http://a": false, "https://a/b": false, "file:a": false, "FILE:///a": false, "s3://b/k": false, "a\x00b": false,
	} {
		if err := external.CheckLocation([]byte(location)); (err == nil) != ok {
			t.Errorf("%q: %v", location, err)
		}
	}
}

func TestExternalWriterRefuses(t *testing.T) {
	p := &schema.Schema{Tensors: []tensor.Info{{Name: "w", DType: tensor.Uint8, Shape: tensor.Shape{4}}}}
	dir := t.TempDir()
	for _, location := range []string{"../up", "/abs", "dir/", `back\slash`, "\xff"} {
		o := &format.WriteOptions{ExternalFrom: 1, External: location}
		expect.Refused(t, format.ErrSchema, location)(format.Create(filepath.Join(dir, "m.wia"), p, o))
	}
	o := &format.WriteOptions{Format: Format{}, ExternalFrom: 1, External: "m"}
	path := filepath.Join(dir, "m.wia.0123456789abcdef.data")
	expect.Refused(t, format.ErrSchema, "a model by the name of its data")(format.Create(path, p, o))
	if _, err := newWriter(&bytes.Buffer{}, p, &format.WriteOptions{ExternalFrom: 1}); !errors.Is(err, format.ErrSchema) || !errors.Is(err, format.ErrUnsupported) || errors.Is(err, format.ErrLimit) {
		t.Errorf("a stream: %v", err)
	}
	// An aborted writer leaves nothing behind.
	w, err := format.Create(filepath.Join(dir, "m.wia"), p, &format.WriteOptions{ExternalFrom: 1})
	expect.OK(t, err)
	expect.OK(t, w.WriteTensor("w", bytes.NewReader([]byte("abcd"))))
	w.Abort()
	if entries, _ := os.ReadDir(dir); len(entries) != 0 {
		t.Errorf("left behind: %v", entries)
	}
}

// TestAttributeExternalData checks external data of tensors in attributes and
// subgraphs.
func TestAttributeExternalData(t *testing.T) {
	testhost.NeedTimes(t)
	dir := t.TempDir()
	os.WriteFile(filepath.Join(dir, "w.bin"), []byte("abcd"), 0o644)
	ext := func(sum string) []byte {
		return cat(decl("", 8, 4), by(5, st(1, "w.bin"), vi(3, 4), st(4, sum)))
	}
	sum := checksumText([]byte("abcd"))
	for name, c := range map[string]container{
		"list":     attr(by(10, ext(sum))),
		"subgraph": attr(by(6, by(5, ext(""), st(1, "x")))),
	} {
		if err := verify(mustOpen(t, c.bytes(), &format.Options{Dir: dir})); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	wrong := attr(by(11, by(5, ext(checksumText([]byte("x"))), st(1, "x"))))
	expect.Refused(t, format.ErrChecksum, "another checksum")(nil, verify(mustOpen(t, wrong.bytes(), &format.Options{Dir: dir})))
	f := mustOpen(t, attr(by(5, ext(sum))).bytes(), &format.Options{Dir: dir})
	var out bytes.Buffer
	expect.OK(t, errors.Join(verify(f), rewriteTo(&out, f, nil)))
	for where, f := range map[string]*File{"outside": f, "rewritten": mustOpen(t, out.Bytes(), nil)} {
		g, err := f.Graph()
		expect.OK(t, err)
		if b, err := g.Nodes[1].Attributes[1].Value.(tensor.View).Bytes(); string(b) != "abcd" || err != nil {
			t.Errorf("%s: %q %v", where, b, err)
		}
	}
}

// TestInlinedTooLarge checks the limit on data that moves into the graph.
func TestInlinedTooLarge(t *testing.T) {
	testhost.NeedTimes(t)
	dir := t.TempDir()
	const n = onnxgraph.MaxTensor + 1
	path := filepath.Join(dir, "w.bin")
	if err := errors.Join(os.WriteFile(path, nil, 0o644), os.Truncate(path, n)); err != nil {
		t.Skip("the file system has no room for a hole: ", err)
	}
	c := attr(by(5, decl("", 8, n), by(5, st(1, "w.bin"), vi(3, n))))
	f := mustOpen(t, c.bytes(), &format.Options{Dir: dir})
	expect.Refused(t, format.ErrLimit)(nil, rewriteTo(io.Discard, f, nil))
}
