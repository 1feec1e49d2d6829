package wia

import (
	"crypto"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/testhost"
	"github.com/weightmap/weightmap/tensor"
)

// TestExternalReplaced: a file that is not what it was when the model was opened
// is an error, never other data.
func TestExternalReplaced(t *testing.T) {
	testhost.NeedTimes(t)
	then := time.Unix(1_700_000_000, 0)
	put := func(t *testing.T, path, data string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(data), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, then, then); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		name   string
		change func(t *testing.T, path string)
		want   string // in the error; "" works
	}{
		{"untouched", func(*testing.T, string) {}, ""},
		{"moved away and back", func(t *testing.T, path string) {
			os.Rename(path, path+".old")
			os.Rename(path+".old", path)
		}, ""},
		{"another file of the same size and time", func(t *testing.T, path string) {
			put(t, path+".new", "evil")
			if err := os.Rename(path+".new", path); err != nil {
				t.Fatal(err)
			}
		}, "replaced"},
		{"written in place", func(t *testing.T, path string) {
			put(t, path, "evil")
			if err := os.Chtimes(path, then, then.Add(time.Second)); err != nil {
				t.Fatal(err)
			}
		}, "changed"},
		{"longer", func(t *testing.T, path string) { put(t, path, "data and more") }, "changed"},
		{"shorter", func(t *testing.T, path string) { put(t, path, "dat") }, "changed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "w.bin")
			put(t, path, "data")
			f := modelIn(t, dir, elsewhereRecord("w", "./w.bin", 0, 4, ""))
			c.change(t, path)
			v, _ := f.Tensor("w")
			b, err := v.Bytes()
			if c.want == "" {
				if string(b) != "data" || err != nil {
					t.Errorf("%q, %v", b, err)
				}
				return
			}
			for what, err := range map[string]error{"Bytes": err, "Verify": verify(f)} {
				if !errors.Is(err, tensor.ErrCorrupt) || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "w.bin") {
					t.Errorf("%s: %v", what, err)
				}
			}
		})
	}
}

// TestExternalMissing: a model opens without its external data; using them is
// the error, also when a file has come meanwhile.
func TestExternalMissing(t *testing.T) {
	testhost.NeedReplace(t)
	testhost.NeedTimes(t)
	dir := t.TempDir()
	f := modelIn(t, dir, elsewhereRecord("w", "sub/w.bin", 0, 4, ""), by(1, inline("here", 8, []byte{1}, 1)))
	v, _ := f.Tensor("w")
	if _, err := v.Bytes(); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing: %v", err)
	}
	if here, _ := f.Tensor("here"); here.Use(func([]byte) error { return nil }) != nil {
		t.Error("a tensor of the file itself cannot be used")
	}
	os.Mkdir(filepath.Join(dir, "sub"), 0o755)
	os.WriteFile(filepath.Join(dir, "sub", "w.bin"), []byte("data"), 0o644)
	if v, _ = f.Tensor("w"); v.Use(func([]byte) error { return nil }) == nil {
		t.Error("a file that came later is used")
	}
	again := modelIn(t, dir, elsewhereRecord("w", "sub/w.bin", 0, 4, ""))
	v, _ = again.Tensor("w")
	if b, err := v.Bytes(); string(b) != "data" || err != nil {
		t.Errorf("opened again: %q, %v", b, err)
	}
}

// TestExternalSubgraphReplaced: so are files that only attributes name.
func TestExternalSubgraphReplaced(t *testing.T) {
	testhost.NeedTimes(t)
	dir := t.TempDir()
	path := filepath.Join(dir, "w.bin")
	os.WriteFile(path, []byte("data"), 0o644)
	c := attr(by(5, decl("", 8, 4), by(5, st(1, "w.bin"), vi(3, 4))))
	f := mustOpen(t, c.bytes(), &format.Options{Dir: dir})
	os.Rename(path, path+".old")
	os.WriteFile(path, []byte("evil"), 0o644)
	if err := verify(f); !errors.Is(err, tensor.ErrCorrupt) {
		t.Errorf("%v", err)
	}
}

// TestNoDescriptors: an open model holds no descriptor, neither of its file nor
// of the directory or the files of its external data.
func TestNoDescriptors(t *testing.T) {
	testhost.NeedTimes(t)
	dir := t.TempDir()
	os.WriteFile(filepath.Join(dir, "w.bin"), []byte("data"), 0o644)
	f := modelIn(t, dir, elsewhereRecord("w", "w.bin", 0, 4, ""))
	if n := testhost.OpenFilesOf(t, dir); n != 0 {
		t.Errorf("%d descriptors after opening", n)
	}
	v, _ := f.Tensor("w")
	if b, err := v.Bytes(); string(b) != "data" || err != nil {
		t.Fatalf("%q, %v", b, err)
	}
	if n := testhost.OpenFilesOf(t, dir); n != 0 {
		t.Errorf("%d descriptors after the first use", n)
	}
}

// signedBy returns the file of c, signed. The signature is the last of the
// block and has its final length from the start, so that the header is final too.
func signedBy(t *testing.T, c container, key *rsa.PrivateKey) []byte {
	t.Helper()
	tail := func(sig []byte) []byte { return by(2, st(1, "RSA-SHA256"), by(3, sig), vi(4, 1_700_000_000)) }
	c.tail = tail(make([]byte, key.Size()))
	b := c.bytes()
	var message []byte
	for _, part := range [][]byte{b[:256], c.meta, c.graph, c.tensor} {
		sum := sha256.Sum256(part)
		message = append(message, sum[:]...)
	}
	digest := sha256.Sum256(binary.LittleEndian.AppendUint64(message, 1_700_000_000))
	sig, err := rsa.SignPKCS1v15(nil, key, crypto.SHA256, digest[:])
	if err != nil {
		t.Fatal(err)
	}
	c.tail = tail(sig)
	return c.bytes()
}

// TestTrustedExternal: a signature covers external data through their checksums,
// so with a trusted key each tensor needs one.
func TestTrustedExternal(t *testing.T) {
	testhost.NeedTimes(t)
	dir := t.TempDir()
	os.WriteFile(filepath.Join(dir, "w.bin"), []byte("data"), 0o644)
	sum := checksumText([]byte("data"))
	key := rsaKey(t)
	hidden := func(sum string) []byte {
		return by(2, by(5, st(1, "a"), by(5, decl("in", 8, 4), by(5, st(1, "w.bin"), vi(3, 4), st(4, sum)))))
	}
	for _, c := range []struct {
		name  string
		c     container
		only  []string
		wrong string // the tensor that the error names
	}{
		{"all have checksums", container{tensor: cat(elsewhereRecord("a", "w.bin", 0, 4, sum), elsewhereRecord("b", "w.bin", 0, 4, sum)), graph: hidden(sum)}, nil, ""},
		{"one has none", container{tensor: cat(elsewhereRecord("a", "w.bin", 0, 4, sum), elsewhereRecord("b", "w.bin", 0, 4, ""))}, nil, `"b"`},
		{"one has none and is missing", container{tensor: cat(elsewhereRecord("a", "w.bin", 0, 4, sum), elsewhereRecord("b", "none", 0, 4, ""))}, nil, `"b"`},
		{"another is asked for", container{tensor: cat(elsewhereRecord("a", "w.bin", 0, 4, sum), elsewhereRecord("b", "w.bin", 0, 4, ""))}, []string{"a"}, ""},
		{"in an attribute", container{graph: hidden("")}, nil, `"in"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := signedBy(t, c.c, key)
			f := mustOpen(t, b, &format.Options{Dir: dir})
			opts := []format.VerifyOption{format.WithTrustedKey(key.Public()), format.WithTensors(c.only...)}
			err := verify(f, opts...)
			switch {
			case c.wrong == "":
				if err != nil {
					t.Error(err)
				}
			case !errors.Is(err, format.ErrSignature) || !strings.Contains(err.Error(), c.wrong):
				t.Errorf("%v", err)
			}
			if err := verify(f); err != nil && !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("without a trusted key: %v", err)
			}
		})
	}
}
