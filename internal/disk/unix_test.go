//go:build unix

package disk

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"

	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/internal/testhost"
)

// TestPermissions: a new file follows the umask; a replacement has the old file's permissions.
func TestPermissions(t *testing.T) {
	old := syscall.Umask(0o027)
	defer syscall.Umask(old)
	path := filepath.Join(t.TempDir(), "m.mag")
	for _, want := range []fs.FileMode{0o640, 0o600, 0o664} {
		if want != 0o640 {
			expect.OK(t, os.Chmod(path, want))
		}
		replace(t, path, "new")
		if st, err := os.Stat(path); err != nil || st.Mode().Perm() != want {
			t.Errorf("mode %v, %v, want %v", st.Mode(), err, want)
		}
	}
}

// TestNoFile: a pipe is refused without blocking, and a dangling link.
func TestNoFile(t *testing.T) {
	dir := t.TempDir()
	expect.OK(t, syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600))
	expect.OK(t, os.Symlink("m.mag", filepath.Join(dir, "link")))
	for name, want := range map[string]error{"pipe": os.ErrInvalid, "link": fs.ErrNotExist} {
		expect.Refused(t, want, name)(Create(filepath.Join(dir, name)))
	}
}

// TestOwner: the new file has the owner and permissions of the old one.
func TestOwner(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root gives files away")
	}
	parent := t.TempDir()
	path, dir := filepath.Join(parent, "m"), filepath.Join(parent, "d")
	mustWrite(t, path, "old", 0o600)
	makeTree(t, dir, nil)
	for at, mode := range map[string]fs.FileMode{path: 0o640, dir: 0o750 | fs.ModeSetgid} {
		expect.OK(t, errors.Join(os.Chown(at, 1234, 4321), os.Chmod(at, mode)))
	}
	replace(t, path, "new")
	wantOwner(t, path, 4321, 0o640)
	expect.OK(t, assemble(dir, "a.toy", "new"))
	wantOwner(t, dir, 4321, 0o750|fs.ModeSetgid|fs.ModeDir)
}

// wantOwner demands that a file belongs to user 1234.
func wantOwner(t *testing.T, path string, group uint32, mode fs.FileMode) {
	t.Helper()
	st, err := os.Stat(path)
	expect.OK(t, err)
	if own := st.Sys().(*syscall.Stat_t); own.Uid != 1234 || own.Gid != group || st.Mode() != mode {
		t.Errorf("%s: %v, %d:%d, want %v", filepath.Base(path), st.Mode(), own.Uid, own.Gid, mode)
	}
}

// TestUnsyncable: a file system that cannot sync directories is not an error.
func TestUnsyncable(t *testing.T) {
	if err := SyncDir("/proc/self/fd"); runtime.GOOS == "linux" && err != nil {
		t.Errorf("/proc: %v", err)
	}
	expect.Refused(t, fs.ErrNotExist, "no directory")(nil, SyncDir(filepath.Join(t.TempDir(), "none")))
}

// TestOwnerNotKept: if the group cannot be kept, the new group gets none of its permissions. The test
// runs itself as an unprivileged user.
func TestOwnerNotKept(t *testing.T) {
	testhost.NeedChildren(t)
	if dir := os.Getenv("DISK_TEST_DIR"); dir != "" {
		replace(t, filepath.Join(dir, "m"), "new")
		return
	}
	if os.Getuid() != 0 {
		t.Skip("only root becomes somebody else")
	}
	dir, err := os.MkdirTemp("", "disk")
	expect.OK(t, err)
	defer os.RemoveAll(dir)
	self := expect.Read(t, os.Args[0])
	program, path := filepath.Join(dir, "test"), filepath.Join(dir, "m")
	mustWrite(t, program, string(self), 0o755)
	mustWrite(t, path, "old", 0o600)
	expect.OK(t, errors.Join(os.Chmod(dir, 0o777), os.Chmod(program, 0o755), os.Chmod(path, 0o664))) // whatever the umask
	c := exec.Command(program, "-test.run=^TestOwnerNotKept$")
	c.Dir, c.Env = dir, append(os.Environ(), "DISK_TEST_DIR="+dir)
	c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 1234, Gid: 1234}}
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	wantOwner(t, path, 1234, 0o644)
}
