package disk

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/internal/source"
	"github.com/weightmap/weightmap/internal/testhost"
	"github.com/weightmap/weightmap/tensor"
)

// reader is a directory of either kind.
type reader interface {
	Open(name string) (fs.File, fs.FileInfo, error)
	Stat(name string) (fs.FileInfo, error)
	OpenNoLink(name string) (*source.File, bool)
	Close()
}

// lay writes files, and links where the content begins with "->"; BASE in a target is base itself.
func lay(t *testing.T, base string, files map[string]string) {
	t.Helper()
	for name, content := range files {
		path := filepath.Join(base, filepath.FromSlash(name))
		expect.OK(t, os.MkdirAll(filepath.Dir(path), 0o755))
		target, isLink := strings.CutPrefix(content, "->")
		if isLink {
			testhost.NeedLinks(t)
			expect.OK(t, os.Symlink(strings.ReplaceAll(target, "BASE", base), path))
			continue
		}
		expect.OK(t, os.WriteFile(path, []byte(content), 0o644))
	}
}

// chain returns n links, "1" to the last, which leads to target.
func chain(dir string, n int, target string) map[string]string {
	links := map[string]string{}
	for i := 1; i < n; i++ {
		links[fmt.Sprint(dir, "/", i)] = fmt.Sprint("->", i+1)
	}
	links[fmt.Sprint(dir, "/", n)] = "->" + target
	return links
}

// standard is there in every case.
var standard = map[string]string{
	"secret": "secret", "model/w": "w", "model/sub/w": "sub", "other/f": "other", "alias": "->other",
	"cache/blobs/b": "blob", "cache/other/f": "no blob", "cache/snapshots/r1/w": "own", "cache/snapshots/r1/sub/w": "own", "cache/snapshots/r2/w": "r2",
}

// linkCase is a name in a directory below base.
type linkCase struct {
	name  string
	links map[string]string
	dir   string // "" for model
	root  string // Options.Root
	open  string
	want  string // the content, or
	err   error  // the error
	fs    error  // the error in a file system, if it differs
	says  string // in the error
}

func linkCases() []linkCase {
	const snapshot = "cache/snapshots/r1"
	unsupported, corrupt := tensor.ErrUnsupported, tensor.ErrCorrupt
	return []linkCase{
		{name: "a file", open: "w", want: "w"},
		{name: "in a directory", open: "sub/w", want: "sub"},
		{name: "dots and slashes", open: "./sub//w", want: "sub"},
		{name: "relative", links: map[string]string{"model/l": "->w"}, open: "l", want: "w"},
		{name: "up, within", links: map[string]string{"model/sub/l": "->../w"}, open: "sub/l", want: "w"},
		{name: "absolute, within", links: map[string]string{"model/l": "->BASE/model/w"}, open: "l", want: "w", fs: unsupported},
		{name: "a chain", links: chain("model", 3, "w"), open: "1", want: "w"},
		{name: "the longest chain", links: chain("model", mostLinks, "w"), open: "1", want: "w"},
		{name: "a longer chain", links: chain("model", mostLinks+1, "w"), open: "1", err: unsupported, says: "chain of more than"},
		{name: "a loop", links: map[string]string{"model/l": "->l"}, open: "l", err: unsupported, says: `"l" is a link to "l"`},
		{name: "a loop of two", links: map[string]string{"model/a": "->b", "model/b": "->a"}, open: "a", err: unsupported, says: `"a" is a link to "b"`},
		{name: "a loop outside", links: map[string]string{"model/l": "->../l", "l": "->model/l"}, open: "l", err: unsupported, says: `"l" is a link to "../l"`},
		{name: "a directory", links: map[string]string{"model/d": "->sub"}, open: "d/w", want: "sub"},
		{name: "a directory, and back", links: map[string]string{"model/d": "->sub/.."}, open: "d/w", want: "w"},
		{name: "dangling", links: map[string]string{"model/l": "->none"}, open: "l", err: fs.ErrNotExist, says: `"l" is a link to "none"`},
		{name: "to a directory", links: map[string]string{"model/l": "->sub"}, open: "l", err: corrupt, says: `"l" is a link to "sub"`},
		{name: "to the directory itself", links: map[string]string{"model/l": "->."}, open: "l", err: corrupt},
		{name: "through a file", links: map[string]string{"model/l": "->w/../w"}, open: "l", err: corrupt},
		{name: "out by a level", links: map[string]string{"model/l": "->../secret"}, open: "l", err: unsupported, says: `"l" is a link to "../secret"`},
		{name: "a chain that leads out", links: chain("model", 3, "../secret"), open: "1", err: unsupported, says: `"3" is a link to "../secret"`},
		{name: "out and back", links: map[string]string{"model/l": "->../model/w"}, open: "l", want: "w"},
		{name: "a directory outside", links: map[string]string{"model/d": "->.."}, open: "d/secret", err: unsupported, says: `"d" is a link to ".."`},
		{name: "a directory outside, and back", links: map[string]string{"model/d": "->.."}, open: "d/model/w", want: "w"},
		{name: "absolute, outside", links: map[string]string{"model/l": "->BASE/secret"}, open: "l", err: unsupported},
		{name: "missing, outside", links: map[string]string{"model/l": "->../none"}, open: "l", err: unsupported},
		{name: "far outside", links: map[string]string{"model/l": "->" + strings.Repeat("../", 60) + "etc/passwd"}, open: "l", err: unsupported},
		{name: "a directory beside with this name as prefix", links: map[string]string{"model/l": "->../model2/w", "model2/w": "no"}, open: "l", err: unsupported},

		{name: "..", open: "../secret", err: corrupt},
		{name: ".. within", open: "sub/../w", err: corrupt},
		{name: "absolute name", open: "/etc/passwd", err: corrupt},
		{name: "no name", open: "", err: corrupt},
		{name: "NUL", open: "w\x00", err: corrupt},
		{name: "the directory", open: ".", err: corrupt},
		{name: "a slash at the end", open: "w/", err: corrupt},
		{name: "a long name", open: strings.Repeat("a/", mostPath), err: unsupported},
		{name: "no file", open: "none", err: fs.ErrNotExist},

		{name: "Options.Root", root: "other", links: map[string]string{"model/l": "->../other/f"}, open: "l", want: "other"},
		{name: "Options.Root is a link", root: "alias", links: map[string]string{"model/l": "->../other/f"}, open: "l", want: "other"},
		{name: "a link to the link that Options.Root is", root: "other", links: map[string]string{"model/l": "->../alias/f"}, open: "l", want: "other"},
		{name: "Options.Root, and elsewhere", root: "other", links: map[string]string{"model/l": "->../secret"}, open: "l", err: unsupported, says: "Options.Root"},
		{name: "Options.Root, and within", root: "other", links: map[string]string{"model/l": "->sub/w"}, open: "l", want: "sub"},
		{name: "Options.Root above", root: ".", links: map[string]string{"model/l": "->../secret"}, open: "l", want: "secret"},

		{name: "a snapshot", dir: snapshot, links: map[string]string{snapshot + "/l": "->../../blobs/b"}, open: "l", want: "blob"},
		{name: "below a snapshot", dir: snapshot, links: map[string]string{snapshot + "/sub/l": "->../../../blobs/b"}, open: "sub/l", want: "blob"},
		{name: "a directory of a snapshot", dir: snapshot + "/sub", links: map[string]string{snapshot + "/sub/l": "->../../../blobs/b"}, open: "l", want: "blob"},
		{name: "a snapshot, by a chain", dir: snapshot, links: map[string]string{snapshot + "/l": "->k", snapshot + "/k": "->../../blobs/b"}, open: "l", want: "blob"},
		{name: "a snapshot, and a missing blob", dir: snapshot, links: map[string]string{snapshot + "/l": "->../../blobs/none"}, open: "l", err: fs.ErrNotExist, says: "../../blobs/none"},
		{name: "a blob that is a link out", dir: snapshot, links: map[string]string{snapshot + "/l": "->../../blobs/out", "cache/blobs/out": "->../../secret"}, open: "l", err: unsupported},
		{name: "a blob that is a link back", dir: snapshot, links: map[string]string{snapshot + "/l": "->../../blobs/back", "cache/blobs/back": "->../snapshots/r1/w"}, open: "l", want: "own"},
		{name: "the cache, but no blob", dir: snapshot, links: map[string]string{snapshot + "/l": "->../../other/f"}, open: "l", err: unsupported},
		{name: "another snapshot", dir: snapshot, links: map[string]string{snapshot + "/l": "->../r2/w"}, open: "l", err: unsupported},
		{name: "a snapshot, and out of the cache", dir: snapshot, links: map[string]string{snapshot + "/l": "->../../../secret"}, open: "l", err: unsupported},
		{name: "a snapshot with another root", dir: snapshot, root: "other", links: map[string]string{snapshot + "/l": "->../../blobs/b"}, open: "l", err: unsupported},
		{name: "a snapshot with the cache as root", dir: snapshot, root: "cache", links: map[string]string{snapshot + "/l": "->../../other/f"}, open: "l", want: "no blob"},
		{name: "blobs that are a link", dir: "evil/snapshots/r", links: map[string]string{"evil/blobs": "->..", "evil/snapshots/r/l": "->../../blobs/secret"}, open: "l", err: unsupported},
		{name: "a snapshot through a link", dir: "snap", links: map[string]string{"snap": "->" + snapshot, snapshot + "/l": "->../../blobs/b"}, open: "l", want: "blob"},
		{name: "a cache without blobs", dir: "few/snapshots/r", links: map[string]string{"few/snapshots/r/l": "->../../../secret"}, open: "l", err: unsupported},
	}
}

// TestLinks has the kinds of links through every door: a link is followed if its target stays in the directory, in the
// blobs of its cache or in Options.Root, and any other is ErrUnsupported.
func TestLinks(t *testing.T) {
	testhost.NeedLinks(t)
	for _, tt := range linkCases() {
		t.Run(tt.name, func(t *testing.T) {
			base, err := filepath.EvalSymlinks(t.TempDir())
			expect.OK(t, err)
			lay(t, base, standard)
			lay(t, base, tt.links)
			if tt.dir == "" {
				tt.dir = "model"
			}
			dir, root := filepath.Join(base, filepath.FromSlash(tt.dir)), tt.root
			if root != "" {
				root = filepath.Join(base, root)
			}
			inFS := tt
			if tt.fs != nil {
				inFS.want, inFS.err = "", tt.fs
			}
			confined, err := os.OpenRoot(base)
			expect.OK(t, err)
			defer confined.Close()
			inFS.check(t, "os.DirFS", OpenFS(os.DirFS(base), tt.dir, tt.root))
			inFS.check(t, "os.Root.FS", OpenFS(confined.FS(), tt.dir, tt.root))
			d := OpenDir(dir, root)
			tt.check(t, "path", d)
			d.Settle()
			d.Close()
			t.Chdir(base)
			tt.check(t, "path, again", d)
			relative := OpenDir(filepath.FromSlash(tt.dir), tt.root)
			tt.check(t, "relative path", relative)
		})
	}
}

// check opens the file and compares its content or the error.
func (c linkCase) check(t *testing.T, door string, d reader) {
	t.Helper()
	defer d.Close()
	_, statErr := d.Stat(c.open)
	if plain, ok := d.OpenNoLink(c.open); ok {
		b, err := io.ReadAll(plain)
		expect.OK(t, errors.Join(err, plain.Close()))
		if c.err != nil || string(b) != c.want || c.links["model/"+c.open] != "" {
			t.Errorf("%s: OpenNoLink opens %q", door, b)
		}
	}
	f, info, err := d.Open(c.open)
	if c.err != nil {
		for _, err := range []error{err, statErr} {
			if !errors.Is(err, c.err) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%s: %v, want %v that says %s", door, err, c.err, c.says)
			}
			if c.err == tensor.ErrUnsupported && errors.Is(err, tensor.ErrCorrupt) {
				t.Errorf("%s: %v is called corrupt", door, err)
			}
		}
		return
	}
	if err != nil || statErr != nil {
		t.Errorf("%s: %v, Stat: %v", door, err, statErr)
		return
	}
	defer f.Close()
	b, err := io.ReadAll(f)
	if err != nil || string(b) != c.want || info.Size() != int64(len(b)) {
		t.Errorf("%s: %q, %v, want %q", door, b, err, c.want)
	}
}

// TestOpenNoLink: only regular files in the directory itself are opened without examining links.
func TestOpenNoLink(t *testing.T) {
	testhost.NeedLinks(t)
	if source.NoWait == 0 {
		t.Skip("no openat(2) here")
	}
	base := t.TempDir()
	lay(t, base, standard)
	lay(t, base, map[string]string{"model/l": "->w"})
	d := OpenDir(filepath.Join(base, "model"), "")
	defer d.Close()
	for name, want := range map[string]bool{"w": true, "l": false, "sub": false, "sub/w": false, "none": false, "../secret": false, ".": false} {
		f, ok := d.OpenNoLink(name)
		if ok != want {
			t.Errorf("%s: %v, want %v", name, ok, want)
		}
		if ok {
			info, err := f.Stat()
			if err != nil || info.Name() != name || info.Size() != f.Info().Size() || !info.Mode().IsRegular() || info.IsDir() || !info.ModTime().Equal(f.Info().ModTime()) {
				t.Errorf("%s: %v, %v", name, info, err)
			}
			f.Close()
		}
	}
}

// TestLinksOutOfFS: what the directory of a file system may link to depends on where the file system begins.
func TestLinksOutOfFS(t *testing.T) {
	base := t.TempDir()
	lay(t, base, standard)
	lay(t, base, map[string]string{"cache/snapshots/r1/l": "->../../blobs/b"})
	linkCase{open: "l", want: "blob"}.check(t, "the cache", OpenFS(os.DirFS(filepath.Join(base, "cache")), "snapshots/r1", ""))
	linkCase{open: "l", err: tensor.ErrUnsupported}.check(t, "the snapshots", OpenFS(os.DirFS(filepath.Join(base, "cache", "snapshots")), "r1", ""))
	linkCase{open: "l", err: tensor.ErrUnsupported}.check(t, "the snapshot", OpenFS(os.DirFS(filepath.Join(base, "cache", "snapshots", "r1")), ".", ""))
}

// TestFSWithoutLinks: a file system without links decides itself.
func TestFSWithoutLinks(t *testing.T) {
	fsys := plainFS{fstest.MapFS{"d/w": {Data: []byte("w")}, "d/sub": {Mode: fs.ModeDir}}}
	for _, tt := range []linkCase{
		{open: "w", want: "w"},
		{open: "../d/w", err: tensor.ErrCorrupt},
		{open: "sub", err: source.ErrNotRegular},
		{open: "w/", err: source.ErrNotRegular},
		{open: "none", err: fs.ErrNotExist},
	} {
		tt.check(t, tt.open, OpenFS(fsys, "d", ""))
	}
}

// plainFS hides the other methods of a file system.
type plainFS struct{ fs fs.FS }

func (p plainFS) Open(name string) (fs.File, error) { return p.fs.Open(name) }

// swapping swaps something between the check of a name and the opening.
type swapping struct {
	fs.ReadLinkFS
	swap func()
}

func (s swapping) Open(name string) (fs.File, error) {
	s.swap()
	return s.ReadLinkFS.Open(name)
}

// TestSwap: what takes the place of a file, or of a directory, after the check is not opened.
func TestSwap(t *testing.T) {
	testhost.NeedLinks(t)
	for name, swapped := range map[string]string{"the file": "sub/w", "its directory": "sub"} {
		base := t.TempDir()
		lay(t, base, map[string]string{"secrets/w": "secret", "model/sub/w": "w"})
		at, target := filepath.Join(base, "model", filepath.FromSlash(swapped)), filepath.Join(base, "secrets", "w")
		if swapped == "sub" {
			target = filepath.Dir(target)
		}
		swap := func() { expect.OK(t, errors.Join(os.Rename(at, at+".old"), os.Symlink(target, at))) }
		fsys := swapping{os.DirFS(base).(fs.ReadLinkFS), swap}
		_, _, err := OpenFS(fsys, "model", "").Open("sub/w")
		if !errors.Is(err, source.ErrReplaced) {
			t.Errorf("%s, os.DirFS: %v, want %v", name, err, source.ErrReplaced)
		}
		root, err := os.OpenRoot(filepath.Join(base, "model"))
		expect.OK(t, err)
		_, _, err = openIn(root, "sub/w")
		if !errors.Is(err, tensor.ErrUnsupported) {
			t.Errorf("%s, path: %v, want %v", name, err, tensor.ErrUnsupported)
		}
		root.Close()
	}
}

// TestSwapOfBlobs: the directory of blobs is not opened through a link that has taken its place.
func TestSwapOfBlobs(t *testing.T) {
	base := t.TempDir()
	lay(t, base, map[string]string{"secrets/b": "secret", "blobs": "->secrets"})
	_, err := openArea(filepath.ToSlash(filepath.Join(base, "blobs")))
	if !errors.Is(err, tensor.ErrUnsupported) {
		t.Errorf("%v, want %v", err, tensor.ErrUnsupported)
	}
}

// TestEntries: a directory lists links by what they lead to.
func TestEntries(t *testing.T) {
	base := t.TempDir()
	lay(t, base, standard)
	lay(t, base, map[string]string{"model/in": "->w", "model/out": "->../secret", "model/none": "->missing", "model/dir": "->sub"})
	type entry struct {
		name    string
		regular bool
		err     error
	}
	want := []entry{{"dir", false, nil}, {"in", true, nil}, {"none", false, fs.ErrNotExist}, {"out", false, tensor.ErrUnsupported}, {"sub", false, nil}, {"w", true, nil}}
	d := OpenDir(filepath.Join(base, "model"), "")
	defer d.Close()
	for door, list := range map[string]func() ([]Entry, error){"path": d.Entries, "os.DirFS": OpenFS(os.DirFS(base), "model", "").Entries} {
		got, err := list()
		expect.OK(t, err)
		if len(got) != len(want) {
			t.Fatalf("%s: %v", door, got)
		}
		for i, e := range got {
			if e.Name != want[i].name || e.Regular != want[i].regular || !errors.Is(e.Err, want[i].err) {
				t.Errorf("%s: %+v, want %+v", door, e, want[i])
			}
		}
	}
	files := d.Files()
	for _, name := range []string{"in", "w"} {
		b, err := fs.ReadFile(files, name)
		expect.OK(t, err)
		expect.Equal(t, "w", string(b))
	}
	_, err := fs.ReadFile(files, "out")
	expect.Refused(t, tensor.ErrUnsupported, "a link out")(nil, err)
	_, err = fs.ReadDir(files, "sub")
	expect.Refused(t, fs.ErrInvalid, "another directory")(nil, err)
	list, err := fs.ReadDir(files, ".")
	expect.OK(t, err)
	if len(list) != len(want) {
		t.Errorf("%v", list)
	}
}

// TestOpenNamed: the user may name any regular file.
func TestOpenNamed(t *testing.T) {
	base := t.TempDir()
	lay(t, base, standard)
	lay(t, base, map[string]string{"model/out": "->../secret", "model/d": "->.."})
	fsys := os.DirFS(filepath.Join(base, "model"))
	for name, want := range map[string]error{"out": nil, "d/secret": nil, "w": nil, "sub": source.ErrNotRegular, "none": fs.ErrNotExist, "../secret": fs.ErrInvalid} {
		f, _, err := OpenNamed(fsys, name)
		if err == nil {
			f.Close()
		}
		if !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", path.Join("model", name), err, want)
		}
	}
}
