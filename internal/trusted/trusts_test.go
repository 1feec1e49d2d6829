package trusted

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/sha512"
	"errors"
	"hash"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/tensor"
)

// trustFunc is a Trust.
type trustFunc func(u *format.Unverified) error

func (f trustFunc) Check(_ context.Context, u *format.Unverified) error { return f(u) }

// digestOf returns the digest of a range of b.
func digestOf(b []byte, off, size int64, f func() hash.Hash) format.Digest {
	end := int64(len(b))
	if size >= 0 {
		end = off + size
	}
	h := f()
	h.Write(b[off:end])
	return format.Digest{Offset: off, Size: size, New: f, Sum: h.Sum(nil)}
}

// TestTrusts is a table of what a Trust can require, and whether a file with and without a name is opened.
func TestTrusts(t *testing.T) {
	path := filepath.Join(t.TempDir(), "m.mag")
	v, err := tensor.Of("w", tensor.Shape{100}, make([]float32, 100))
	expect.OK(t, err)
	expect.OK(t, format.Save(t.Context(), path, nil, []tensor.View{v}, nil))
	b := expect.Read(t, path)
	size := int64(len(b))
	whole := digestOf(b, 0, -1, sha256.New)
	other := digestOf([]byte("another file"), 0, -1, sha256.New)
	other512 := digestOf(b[1:], 0, -1, sha512.New)
	first, second := digestOf(b, 0, 100, sha256.New), digestOf(b, 100, size-100, sha512.New)
	errMine := errors.New("mine")
	require := func(name string, list ...format.Digest) trustFunc {
		return func(u *format.Unverified) error { return u.Require(name, list...) }
	}
	for _, tt := range []struct {
		name           string
		trust          trustFunc
		named, unnamed error // of opening; nil for success
	}{
		{"nothing", func(*format.Unverified) error { return nil }, format.ErrSignature, format.ErrSignature},
		{"its error", func(*format.Unverified) error { return errMine }, errMine, errMine},
		{"its digest", require("m.mag", whole), nil, nil},
		{"its digest under another name", require("x.mag", whole), format.ErrSignature, nil},
		{"its digest under the name of a file below", require("sub/m.mag", whole), format.ErrSignature, nil},
		{"another digest", require("m.mag", other), format.ErrSignature, format.ErrSignature},
		{"two hashes", require("m.mag", whole, digestOf(b, 0, -1, sha512.New)), nil, nil},
		{"two hashes, one of them wrong", require("m.mag", whole, other512), format.ErrSignature, format.ErrSignature},
		{"two digests, one of them wrong", require("m.mag", other, whole), format.ErrSignature, format.ErrSignature},
		{"ranges", require("m.mag", second, first), nil, nil},
		{"ranges with a gap", require("m.mag", digestOf(b, 0, 99, sha256.New), second), format.ErrSignature, format.ErrSignature},
		{"ranges that end early", require("m.mag", first, digestOf(b, 100, size-101, sha256.New)), format.ErrSignature, format.ErrSignature},
		{"ranges that end late", require("m.mag", first, format.Digest{Offset: 100, Size: size, New: sha256.New, Sum: second.Sum}), format.ErrSignature, format.ErrSignature},
		{"ranges that overlap", require("m.mag", whole, first), nil, nil},
		{"ranges that overlap, one of them wrong", require("m.mag", whole, format.Digest{Offset: 5, Size: 10, New: sha256.New, Sum: first.Sum}), format.ErrSignature, format.ErrSignature},
		{"no digest", require("m.mag"), format.ErrOption, format.ErrOption},
		{"no hash", require("m.mag", format.Digest{Size: -1, Sum: whole.Sum}), format.ErrOption, format.ErrOption},
		{"no sum", require("m.mag", format.Digest{Size: -1, New: sha256.New}), format.ErrOption, format.ErrOption},
		{"a negative offset", require("m.mag", format.Digest{Offset: -1, Size: 10, New: sha256.New, Sum: whole.Sum}), format.ErrOption, format.ErrOption},
		{"an end that overflows", require("m.mag", format.Digest{Offset: 1 << 62, Size: 1 << 62, New: sha256.New, Sum: whole.Sum}), format.ErrOption, format.ErrOption},
		{"a name that leaves the directory", require("../m.mag", whole), format.ErrOption, format.ErrOption},
		{"a wrong digest, then the right one", func(u *format.Unverified) error {
			return errors.Join(u.Require("m.mag", other), u.Require("m.mag", whole))
		}, format.ErrSignature, format.ErrSignature},
		{"two files, one of them this", func(u *format.Unverified) error {
			return errors.Join(u.Require("a", other), u.Require("m.mag", whole))
		}, nil, nil},
		{"the digest of what it reads, which is a file beside the model", func(u *format.Unverified) error {
			_, err := u.ReadFile("no such file")
			return err
		}, os.ErrNotExist, format.ErrUnsupported},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := &format.Options{Trusted: tt.trust}
			for how, open := range map[string]func() (*format.Model, error){
				"path":   func() (*format.Model, error) { return format.Open(path, o) },
				"bytes":  func() (*format.Model, error) { return format.OpenBytes(b, o) },
				"reader": func() (*format.Model, error) { return format.OpenReaderAt(bytes.NewReader(b), size, o) },
			} {
				want := tt.unnamed
				if how == "path" {
					want = tt.named
				}
				m, err := open()
				if m != nil {
					_, err = m.Verify(t.Context(), nil)
					m.Close()
				}
				if !errors.Is(err, want) {
					t.Errorf("%s: %v, want %v", how, err, want)
				}
				o.Trusted = nil
				m, err = open()
				expect.OK(t, err)
				_, err = m.Verify(t.Context(), &format.VerifyOptions{Trusted: tt.trust})
				if !errors.Is(err, want) {
					t.Errorf("%s, Verify of an open model: %v, want %v", how, err, want)
				}
				expect.OK(t, m.Close())
				o.Trusted = tt.trust
			}
		})
	}
}

// TestUnverified: what a Trust is given says what is opened, and does nothing afterwards.
func TestUnverified(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "m.mag")
	v, err := tensor.Of("w", tensor.Shape{1}, []float32{1})
	expect.OK(t, err)
	expect.OK(t, format.Save(t.Context(), path, nil, []tensor.View{v}, nil))
	expect.OK(t, os.WriteFile(filepath.Join(dir, "list"), []byte("text"), 0o666))
	b := expect.Read(t, path)
	var kept *format.Unverified
	trust := trustFunc(func(u *format.Unverified) error {
		kept = u
		text, err := u.ReadFile("list")
		expect.OK(t, err)
		files := []format.UnverifiedFile{{Name: "m.mag", Size: int64(len(b)), Open: true}}
		expect.Equal(t, files, u.Files())
		if u.Path() != path || string(text) != "text" {
			t.Errorf("%q, %q", u.Path(), text)
		}
		for _, name := range []string{"", ".", "..", "../m.mag", "/etc/hostname", "a/../m.mag", strings.Repeat("x/", 3)} {
			_, err := u.ReadFile(name)
			expect.Refused(t, format.ErrOption, name)(nil, err)
		}
		return u.Require("m.mag", digestOf(b, 0, -1, sha256.New))
	})
	m, err := format.Open(path, &format.Options{Trusted: trust})
	expect.OK(t, err)
	defer m.Close()
	_, err = kept.ReadFile("list")
	for what, err := range map[string]error{
		"ReadFile": err, "Require": kept.Require("m.mag", digestOf(b, 0, -1, sha256.New)), "CheckSignature": kept.CheckSignature(edKey.Public()),
	} {
		if !errors.Is(err, format.ErrClosed) {
			t.Errorf("%s after Check: %v", what, err)
		}
	}
}
