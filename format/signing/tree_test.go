package signing

import (
	"context"
	"crypto/elliptic"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/expect"
)

func link(t testing.TB, to, dir, name string) {
	t.Helper()
	if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
		t.Skip("no symbolic links here:", err)
	}
}

// TestChangedModel changes a signed model and checks which file the error names.
func TestChangedModel(t *testing.T) {
	key := newKey(t, elliptic.P256())
	bundle := forged(t, key, twoFiles).make(t)
	for _, test := range []struct {
		name   string
		change func(t *testing.T, dir string)
		want   error
		file   string
	}{
		{"nothing", func(*testing.T, string) {}, nil, ""},
		{"a byte", func(t *testing.T, dir string) { put(t, dir, "sub/weights.bin", "abd") }, format.ErrChecksum, "sub/weights.bin"},
		{"removed", func(t *testing.T, dir string) { expect.OK(t, os.Remove(filepath.Join(dir, "config.json"))) }, fs.ErrNotExist, "config.json"},
		{"renamed", func(t *testing.T, dir string) {
			expect.OK(t, os.Rename(filepath.Join(dir, "config.json"), filepath.Join(dir, "Config.json")))
		}, format.ErrSignature, "Config.json"},
		{"added", func(t *testing.T, dir string) { put(t, dir, "sub/x/pickle.bin", "") }, format.ErrSignature, "sub/x/pickle.bin"},
		{"what git keeps", func(t *testing.T, dir string) { put(t, dir, ".git/a/b", ""); put(t, dir, ".gitignore", "") }, nil, ""},
		{"what is ignored", func(t *testing.T, dir string) { put(t, dir, "cache/a", ""); put(t, dir, "model.sig", "") }, nil, ""},
		{"what is ignored, deeper", func(t *testing.T, dir string) { put(t, dir, "sub/cache/a", "") }, format.ErrSignature, "sub/cache/a"},
		{"a link", func(t *testing.T, dir string) {
			expect.OK(t, os.Rename(filepath.Join(dir, "config.json"), filepath.Join(dir, "cache")))
			link(t, "cache", dir, "config.json")
		}, format.ErrSignature, "config.json"},
		{"a link that is ignored", func(t *testing.T, dir string) { link(t, "/", dir, "cache") }, nil, ""},
		{"a directory instead", func(t *testing.T, dir string) {
			expect.OK(t, os.Remove(filepath.Join(dir, "config.json")))
			expect.OK(t, os.Mkdir(filepath.Join(dir, "config.json"), 0o777))
		}, fs.ErrNotExist, "config.json"},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := model(t, twoFiles)
			test.change(t, dir)
			_, err := verify(bundle, dir, trusting(key), nil)
			if !errors.Is(err, test.want) || err != nil && !errors.Is(err, format.ErrSignature) {
				t.Fatalf("%v, want %v", err, test.want)
			}
			if path := filepath.Join(dir, filepath.FromSlash(test.file)); test.file != "" && !strings.HasPrefix(err.Error(), path+": ") {
				t.Errorf("%v, want %s", err, path)
			}
		})
	}
}

// TestIgnore checks the paths that the caller leaves out; bundles before version 1.1 do not record
// them.
func TestIgnore(t *testing.T) {
	key := newKey(t, elliptic.P256())
	f := forged(t, key, twoFiles)
	f.serialized = `{"method": "files", "hash_type": "sha256", "allow_symlinks": false}`
	dir := model(t, twoFiles)
	put(t, dir, "tmp/a", "")
	for _, test := range []struct {
		ignore []string
		want   error
	}{
		{nil, format.ErrSignature},
		{[]string{"tmp"}, nil},
		{[]string{"./tmp/"}, nil},
		{[]string{"tmp/a"}, nil},
		{[]string{"tm"}, format.ErrSignature},
		{[]string{"tmp", "config.json"}, fs.ErrNotExist},
		{[]string{"*"}, format.ErrOption},
		{[]string{"../model/tmp"}, format.ErrOption},
		{[]string{filepath.Join(dir, "tmp")}, format.ErrOption},
		{[]string{""}, format.ErrOption},
	} {
		unverified(t, strings.Join(test.ignore, " "), test.want, f.make(t), dir, trusting(key), &Options{Ignore: test.ignore})
	}
}

// TestOneFile checks that the bundle of one file has its base name, or "." as the reference
// implementation writes it.
func TestOneFile(t *testing.T) {
	key := newKey(t, elliptic.P256())
	dir := model(t, map[string]string{"model.bin": "abc", "other.bin": "abc"})
	one := func(name string) []byte { return forged(t, key, map[string]string{name: "abc"}).make(t) }
	for _, test := range []struct {
		name, signed, root string
		want               error
	}{
		{"base name", "model.bin", "model.bin", nil},
		{"dot", ".", "model.bin", nil},
		{"dot, renamed", ".", "other.bin", nil},
		{"renamed", "model.bin", "other.bin", format.ErrSignature},
		{"deeper", "x/model.bin", "model.bin", format.ErrSignature},
		{"the directory", "model.bin", ".", format.ErrSignature},
		{"the directory by dot", ".", ".", format.ErrSignature},
		{"nothing", ".", "nothing.bin", fs.ErrNotExist},
	} {
		t.Run(test.name, func(t *testing.T) {
			unverified(t, test.name, test.want, one(test.signed), filepath.Join(dir, test.root), trusting(key), nil)
		})
	}
	unverified(t, "two files", format.ErrSignature, forged(t, key, twoFiles).make(t), filepath.Join(dir, "model.bin"), trusting(key), nil)
	put(t, dir, "model.bin", "abd")
	unverified(t, "changed", format.ErrChecksum, one("."), filepath.Join(dir, "model.bin"), trusting(key), nil)
}

// TestLinks checks that with allow_symlinks links count under their own names, and that links out
// of the model or in a cycle are errors.
func TestLinks(t *testing.T) {
	key := newKey(t, elliptic.P256())
	signed := map[string]string{"blobs/1": "abc", "weights.bin": "abc", "also/1": "abc"}
	f := forged(t, key, signed)
	f.serialized = `{"method": "files", "hash_type": "sha256", "allow_symlinks": true}`
	bundle := f.make(t)
	build := func(t *testing.T) string {
		dir := model(t, map[string]string{"blobs/1": "abc"})
		link(t, "blobs/1", dir, "weights.bin")
		link(t, "blobs", dir, "also")
		return dir
	}
	for _, test := range []struct {
		name   string
		change func(t *testing.T, dir string)
		want   error
		says   string
	}{
		{"good", func(*testing.T, string) {}, nil, ""},
		{"another target", func(t *testing.T, dir string) {
			put(t, dir, "blobs/2", "abd")
			expect.OK(t, os.Remove(filepath.Join(dir, "weights.bin")))
			link(t, "blobs/2", dir, "weights.bin")
		}, format.ErrSignature, "2"},
		{"out of the model", func(t *testing.T, dir string) {
			put(t, filepath.Dir(dir), "out", "abc")
			link(t, "../out", dir, "out")
		}, format.ErrUnsupported, "out: "},
		{"in a circle", func(t *testing.T, dir string) { link(t, "..", dir, "blobs/up") }, format.ErrUnsupported, "up: "},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := build(t)
			test.change(t, dir)
			_, err := verify(bundle, dir, trusting(key), nil)
			if !errors.Is(err, test.want) || err != nil && !strings.Contains(err.Error(), test.says) {
				t.Errorf("%v, want %v with %q", err, test.want, test.says)
			}
			b, err := Sign(context.Background(), dir, Signer{Key: key}, &Options{FollowLinks: true})
			if test.want == format.ErrUnsupported || test.want == fs.ErrNotExist {
				if !errors.Is(err, test.want) {
					t.Errorf("signing: %v, want %v", err, test.want)
				}
				return
			}
			expect.OK(t, err)
			if _, err := Verify(context.Background(), b, dir, trusting(key), nil); err != nil {
				t.Error(err)
			}
			expect.Refused(t, format.ErrSignature, "signing without links")(Sign(context.Background(), dir, Signer{Key: key}, nil))
		})
	}
	// The root itself may be a link.
	dir := build(t)
	link(t, "model", filepath.Dir(dir), "current")
	unverified(t, "through a link", nil, bundle, filepath.Join(filepath.Dir(dir), "current"), trusting(key), nil)
}

// TestSign compares the output of Sign with the specification.
func TestSign(t *testing.T) {
	key := newKey(t, elliptic.P256())
	dir := model(t, map[string]string{"b": "abc", "a/z": "", "a.txt": "x", "模型.bin": "y", "q\"\\<": "z", ".git/HEAD": "", "tmp/1": "", ".env": "1"})
	o := &Options{Ignore: []string{"tmp"}, Bundle: filepath.Join(dir, "model.sig")}
	b, err := Sign(context.Background(), dir, Signer{Key: key}, o)
	expect.OK(t, err)
	expect.OK(t, os.WriteFile(o.Bundle, b.Bytes(), 0o666))
	again, err := Sign(context.Background(), dir, Signer{Key: key}, o)
	expect.OK(t, err)
	if diff := cmp.Diff(string(b.Bytes()), string(again.Bytes())); diff != "" {
		t.Errorf("signed again: %s", diff)
	}
	read, err := Read(o.Bundle)
	expect.OK(t, err)
	r, err := Verify(context.Background(), read, dir, trusting(key), nil)
	expect.OK(t, err)
	var names []string
	for _, f := range r.Files {
		names = append(names, f.Name)
	}
	expect.Equal(t, []string{".env", "a.txt", "a/z", "b", "q\"\\<", "模型.bin"}, names)
	expect.Equal(t, []string{".git", ".gitattributes", ".github", ".gitignore", "model.sig", "tmp"}, r.said.ignore)
	if r.Name != "model" {
		t.Error(r.Name)
	}
	for _, test := range []struct {
		name string
		root string
		by   Signer
		o    *Options
		want error
	}{
		{"no key", dir, Signer{}, nil, format.ErrKey},
		{"no such model", filepath.Join(dir, "x"), Signer{Key: key}, nil, fs.ErrNotExist},
		{"no files", model(t, map[string]string{".gitignore": ""}), Signer{Key: key}, nil, format.ErrUnsupported},
		{"empty files in ranges", model(t, map[string]string{"a": ""}), Signer{Key: key}, &Options{ShardSize: 1}, format.ErrUnsupported},
		{"workers", dir, Signer{Key: key}, &Options{Workers: -1}, format.ErrOption},
		{"ranges", dir, Signer{Key: key}, &Options{ShardSize: -1}, format.ErrOption},
		{"ignore", dir, Signer{Key: key}, &Options{Ignore: []string{"/"}}, format.ErrOption},
	} {
		expect.Refused(t, test.want, test.name)(Sign(context.Background(), test.root, test.by, test.o))
	}
}

// TestOddFiles has entries that are neither files nor directories, and names that are not UTF-8.
func TestOddFiles(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("made by system calls of Linux")
	}
	key := newKey(t, elliptic.P256())
	bundle := forged(t, key, twoFiles).make(t)
	dir := model(t, twoFiles)
	path := filepath.Join(dir, "pipe")
	expect.OK(t, mkfifo(path))
	if _, err := verify(bundle, dir, trusting(key), nil); !errors.Is(err, format.ErrUnsupported) || !strings.HasPrefix(err.Error(), path+": ") {
		t.Error(err)
	}
	unverified(t, "a pipe alone", format.ErrUnsupported, bundle, path, trusting(key), nil)
	if _, err := Read(path); err == nil {
		t.Error("a pipe was read")
	}
	expect.OK(t, os.Remove(path))
	path = filepath.Join(dir, "a\xff")
	expect.OK(t, os.WriteFile(path, nil, 0o666))
	unverified(t, "no UTF-8", format.ErrUnsupported, bundle, dir, trusting(key), nil)
	expect.Refused(t, format.ErrUnsupported)(Sign(context.Background(), dir, Signer{Key: key}, nil))
}

// TestChangesMeanwhile checks that a file replaced between listing and hashing is detected.
func TestChangesMeanwhile(t *testing.T) {
	dir := model(t, twoFiles)
	tree, err := openTree(dir, false, nil, "")
	expect.OK(t, err)
	defer tree.close()
	put(t, dir, "next", "{}")
	expect.OK(t, os.Rename(filepath.Join(dir, "next"), filepath.Join(dir, "config.json")))
	expect.Refused(t, format.ErrCorrupt, "replaced")(nil, tree.files[0].feed(io.Discard, 0, 2))
	if err := tree.files[1].feed(io.Discard, 1, 3); !errors.Is(err, format.ErrTruncated) {
		t.Error("shorter than when it was listed:", err)
	}
	put(t, dir, "sub/weights.bin", "abcd")
	expect.Refused(t, format.ErrCorrupt, "longer")(nil, tree.files[1].feed(io.Discard, 0, 3))
}

// TestProgress checks that progress counts all bytes, and that a canceled context ends hashing.
func TestProgress(t *testing.T) {
	key := newKey(t, elliptic.P256())
	dir := model(t, map[string]string{"a": strings.Repeat("x", 5<<20), "b": "y", "c": ""})
	ctx, cancel := context.WithCancel(context.Background())
	last, all := int64(0), int64(0)
	b, err := Sign(ctx, dir, Signer{Key: key}, &Options{Progress: func(done, total int64, _ string) { last, all = done, total }})
	expect.OK(t, err)
	if last != 5<<20+1 || all != last {
		t.Errorf("%d of %d", last, all)
	}
	_, err = Verify(ctx, b, dir, trusting(key), &Options{Progress: func(int64, int64, string) { cancel() }, Workers: 1})
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
