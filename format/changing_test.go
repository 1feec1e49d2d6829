package format

import (
	"errors"
	"io/fs"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/weightmap/weightmap/internal/disk"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/internal/source"
	"github.com/weightmap/weightmap/internal/testhost"
)

// stubborn is a directory that changes while a model is opened: one file cannot be opened.
type stubborn struct {
	diskTree
	name   string
	err    error        // of opening that file
	listed []disk.Entry // what the first listing has in place of the entries
}

func (s *stubborn) OpenNoLink(name string) (*source.File, bool) {
	if name == s.name && s.err != nil {
		return nil, false
	}
	return s.diskTree.OpenNoLink(name)
}

func (s *stubborn) Open(name string) (fs.File, fs.FileInfo, error) {
	if name == s.name && s.err != nil {
		return nil, nil, s.err
	}
	return s.diskTree.Open(name)
}

func (s *stubborn) Entries() ([]disk.Entry, error) {
	if list := s.listed; list != nil {
		s.listed = nil
		return list, nil
	}
	return s.diskTree.Entries()
}

// stubbornDoor makes s the directory with a file model.safetensors and returns its door.
func stubbornDoor(t *testing.T, s *stubborn) (dir string, of door) {
	t.Helper()
	dir = t.TempDir()
	put(t, filepath.Join(dir, "model.safetensors"), []byte(fakeFile))
	s.diskTree = disk.OpenDir(dir, "")
	return dir, &directoryDoor{tree: s, holds: 1}
}

// TestDirectoryChanges: a directory that changes between its listing and the opening of a file is
// ErrChanged, which callers try again. What was missing all the time is not.
func TestDirectoryChanges(t *testing.T) {
	regular := func(name string) []disk.Entry { return []disk.Entry{{Name: name, Regular: true}} }
	for _, tt := range []struct {
		name    string
		s       *stubborn
		want    error // nil for a model
		isAgain bool
	}{
		{"nothing changes", &stubborn{}, nil, false},
		{"the file is gone when it is opened", &stubborn{name: "model.safetensors", err: fs.ErrNotExist}, fs.ErrNotExist, true},
		{"a link to nothing", &stubborn{name: "model.safetensors", err: fs.ErrNotExist, listed: []disk.Entry{{Name: "model.safetensors"}}}, fs.ErrNotExist, false},
		{"the file cannot be opened", &stubborn{name: "model.safetensors", err: fs.ErrPermission}, fs.ErrPermission, false},
		{"no model was listed, and there is one", &stubborn{listed: regular("readme")}, errAny, true},
	} {
		dir, of := stubbornDoor(t, tt.s)
		m := &Model{}
		m.opening = *toyConfig(&fake{name: "safetensors", magic: "FAKE"}, func(c *config) { c.path, c.name, c.door = dir, dir, of })
		_, err := m.openDir(dir, true)
		switch {
		case tt.want == nil:
			expect.OK(t, err)
			expect.OK(t, m.Close())
		case err == nil || tt.want != errAny && !errors.Is(err, tt.want):
			t.Errorf("%s: %v, want %v", tt.name, err, tt.want)
		case errors.Is(err, ErrChanged) != tt.isAgain:
			t.Errorf("%s: %v is ErrChanged: %v", tt.name, err, !tt.isAgain)
		}
	}
}

// TestDeclaredFails: a declared file that cannot be opened for want of descriptors is opened when it
// is used. One that cannot be opened for another reason never is: it may be another file by then.
func TestDeclaredFails(t *testing.T) {
	testhost.NeedTimes(t)
	for _, tt := range []struct {
		err  error
		want string // "" for the bytes
	}{
		{syscall.EMFILE, ""},
		{syscall.ENFILE, ""},
		{syscall.ENOMEM, ""},
		{syscall.EIO, ""},
		{errMine, "when the model was opened: mine"},
		{fs.ErrPermission, "when the model was opened: permission denied"},
	} {
		dir := modelDir(t)
		s := &stubborn{diskTree: disk.OpenDir(dir, ""), name: "w.bin", err: &fs.PathError{Op: "open", Path: "w.bin", Err: tt.err}}
		m := declared(t, dir, "w.bin", func(c *config) { c.door = &directoryDoor{tree: s, holds: 1} })
		s.err = nil
		if tt.want != "" {
			expect.Refused(t, tt.err, "when the model was opened")(m.Tensor("w"))
			continue
		}
		if got := bytesOf(t, m, "w"); got != "[2 3 4 5]" {
			t.Errorf("%v: %s", tt.err, got)
		}
	}
}
