// Package testhost skips tests that the current system cannot run, and returns facts about the
// system.
package testhost

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/internal/memory"
)

// emulated reports whether the tests run in an emulator, as .ci/architectures says.
var emulated = os.Getenv("WEIGHTMAP_EMULATED") != ""

// AsHost reports whether little-endian elements of that size have the host's representation.
func AsHost(size int64) bool { return memory.LittleEndian || size <= 1 }

// NeedCuts skips a test that truncates a mapped file.
func NeedCuts(t testing.TB) {
	t.Helper()
	skip(t, !Maps() || runtime.GOOS == "windows", "files are not mapped here, or cannot be truncated while they are")
	skip(t, emulated, "the emulator does not report the addresses of faults")
}

// skip skips a test that cannot run here.
func skip(t testing.TB, cannot bool, why string) {
	t.Helper()
	if cannot {
		t.Skip(why)
	}
}

// Maps reports whether files are mapped on this system.
func Maps() bool {
	return slices.Contains([]string{"linux", "android", "darwin", "ios", "windows"}, runtime.GOOS)
}

// CountsAllocs reports whether allocations of an opening can be counted: the race detector, and
// reading or mapping on some systems, add their own.
func CountsAllocs() bool { return !Race && Maps() && runtime.GOOS != "windows" }

// NeedMaps skips a test that changes a mapped file, or expects no note that the file was read into
// memory.
func NeedMaps(t testing.TB) {
	t.Helper()
	skip(t, !Maps(), "files are read into memory here, which is noted, and what changes afterwards is not seen")
}

// NeedReplace skips a test that replaces or overwrites a file that is mapped or open.
func NeedReplace(t testing.TB) {
	t.Helper()
	skip(t, runtime.GOOS == "windows", "Windows replaces no file that is open or mapped")
}

// NeedLinks skips a test that needs working symbolic links.
func NeedLinks(t testing.TB) {
	t.Helper()
	dir := t.TempDir()
	link := filepath.Join(dir, "link")
	err := errors.Join(os.Mkdir(filepath.Join(dir, "target"), 0o755), os.Symlink("target", link))
	if err == nil {
		_, err = os.ReadDir(link)
	}
	skip(t, err != nil, fmt.Sprint("symbolic links do not work here: ", err))
}

// OpenFiles returns the open files of the process, sorted: paths, or the system's descriptions of
// files without one. It returns nil if the system does not tell.
func OpenFiles() (all []string) {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return nil
	}
	for _, e := range entries {
		if to, err := os.Readlink("/proc/self/fd/" + e.Name()); err == nil { // the descriptor of this listing is gone
			all = append(all, to)
		}
	}
	slices.Sort(all)
	return all
}

// Resolved returns a path as the system shows it in /proc: the temporary directory may be behind a
// link.
func Resolved(path string) string {
	dir, err := filepath.EvalSymlinks(filepath.Dir(path))
	if err != nil {
		return path
	}
	return filepath.Join(dir, filepath.Base(path))
}

// TempDir returns t.TempDir by the path that the hooks of internal/disk show: without links.
func TempDir(t testing.TB) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// OpenFilesOf counts the open files whose paths begin with path. It skips the test if the system
// does not tell.
func OpenFilesOf(t testing.TB, path string) (n int) {
	t.Helper()
	all := OpenFiles()
	skip(t, all == nil, "the system does not tell which files are open")
	path = Resolved(path)
	for _, name := range all {
		if strings.HasPrefix(name, path) {
			n++
		}
	}
	return n
}

// NeedResident skips a test that checks which pages are in memory.
func NeedResident(t testing.TB) {
	t.Helper()
	skip(t, runtime.GOOS != "linux" || emulated, "only Linux itself says what is in memory")
}

// roundsTimes reports whether some calls, but not all, return file times in whole seconds, so that
// files seem to change.
func roundsTimes() bool {
	return emulated && runtime.GOARCH == "s390x"
}

// RoundTimes sets the times of files that a test wrote to the current second if the emulator
// requires whole ones.
func RoundTimes(t testing.TB, dir string) {
	t.Helper()
	if !roundsTimes() {
		return
	}
	now := time.Now().Truncate(time.Second)
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		return os.Chtimes(path, now, now)
	})
	expect.OK(t, err)
}

// NeedTimes skips a test that compares modification times.
func NeedTimes(t testing.TB) {
	t.Helper()
	skip(t, roundsTimes(), "the emulator reports times of one file in different resolutions")
}

// NeedChildren skips a test that starts processes.
func NeedChildren(t testing.TB) {
	t.Helper()
	skip(t, runtime.GOOS == "js" || runtime.GOOS == "wasip1" || runtime.GOOS == "ios", "there are no child processes here")
	skip(t, emulated, "the emulator does not start programs of the emulated system")
}

// Nightly reports whether tests that try very many inputs try all of them, which takes minutes on a
// busy machine.
func Nightly() bool { return os.Getenv("WEIGHTMAP_NIGHTLY") != "" }

// NeedNightly skips a test that takes minutes on a busy machine, and says what takes them.
func NeedNightly(t testing.TB, takes string) {
	t.Helper()
	skip(t, !Nightly(), takes+": set WEIGHTMAP_NIGHTLY=1, as .ci/nightly does")
}

// Python runs the script in a file with a Python that has the module, and returns its output.
// Without one it skips the test.
func Python(t testing.TB, module, script string, args ...string) string {
	t.Helper()
	// /usr/bin/python3, for which Debian packages are installed, need not be the first in PATH.
	for _, python := range []string{"python3", "/usr/bin/python3"} {
		if exec.Command(python, "-c", "import "+module).Run() != nil {
			continue
		}
		var warnings bytes.Buffer
		cmd := exec.Command(python, append([]string{script}, args...)...)
		cmd.Stderr = &warnings
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%v: %s%s", err, out, &warnings)
		}
		return string(out)
	}
	t.Skip("no python3 with the module " + module)
	return ""
}

// FastDir returns a directory, in memory where the system has such: on disks thousands of syncs
// take their time.
func FastDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "weightmap-test-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// NeedHardLinks skips a test that needs a second name for a file.
func NeedHardLinks(t testing.TB) {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	expect.OK(t, os.WriteFile(file, nil, 0o644))
	err := os.Link(file, filepath.Join(dir, "link"))
	skip(t, err != nil, fmt.Sprint("there are no hard links here: ", err))
}
