package save

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weightmap/weightmap/internal/testhost"
)

// halfWritten is the environment variable with the path that a child process starts to write.
const halfWritten = "WEIGHTMAP_TEST_HALF_WRITTEN"

func TestMain(m *testing.M) {
	if path := os.Getenv(halfWritten); path != "" {
		begin(path)
	}
	os.Exit(m.Run())
}

// begin is the child process: it starts to write a file, or a directory if the path has a directory's
// extension, and waits.
func begin(path string) {
	var err error
	if dir, ok := strings.CutSuffix(path, "/"); ok {
		var w *Writer
		if w, err = beginDir(dir, "a.toy", "text", false); err == nil {
			err = w.WriteTensor("a", strings.NewReader(""))
		}
	} else {
		var f *File
		if f, err = CreateFile(path); err == nil {
			err = f.Truncate(1000)
		}
	}
	fmt.Println("begun:", err)
	_, _ = io.Copy(io.Discard, os.Stdin) // until it is killed or the parent exits
}

// needLocks skips a test on systems where leftovers are removed by age.
func needLocks(t *testing.T) {
	t.Helper()
	if !lockable(t.TempDir()) {
		t.Skip("locks cannot be relied on here")
	}
}

// TestKilledWriter: the next writer in a directory removes a killed writer's file whatever it writes,
// but not while the first writer lives.
func TestKilledWriter(t *testing.T) {
	testhost.NeedChildren(t)
	needLocks(t)
	for _, kind := range []string{"", "/"} {
		dir := t.TempDir()
		c := exec.Command(os.Args[0])
		c.Env = append(os.Environ(), halfWritten+"="+filepath.Join(dir, "m")+kind)
		in, err := c.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		defer in.Close()
		out, err := c.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		if line, err := bufio.NewReader(out).ReadString('\n'); line != "begun: <nil>\n" {
			t.Errorf("the child says %q, %v", line, err)
		}
		next := func(name string) []string {
			t.Helper()
			if err := assemble(filepath.Join(dir, name+".d"), "a.txt", "new", false); err != nil {
				t.Error(err)
			}
			replace(t, filepath.Join(dir, name), "new", false)
			return entries(t, dir)
		}
		if left := next("a"); len(left) != 3 || !isTemporary(left[0], "m") || !Busy(dir) {
			t.Errorf("while another writes: %q, busy %v", left, Busy(dir))
		}
		_ = c.Process.Kill()
		_ = c.Wait()
		if Busy(dir) {
			t.Error("somebody seems to write who was killed")
		}
		if d := cmp.Diff([]string{"a", "a.d", "b", "b.d"}, next("b")); d != "" {
			t.Error(d)
		}
	}
}

// TestNoLock: the name of a file that could not be locked says so, and the file is left alone for a
// day, as is a file that cannot be locked now.
func TestNoLock(t *testing.T) {
	needLocks(t)
	dir := t.TempDir()
	mustWrite(t, filepath.Join(dir, ".m.0123456789ab.tmp"), "not locked", 0o644)
	mustWrite(t, filepath.Join(dir, ".m.8123456789ab.tmp"), "locked", 0o644)
	SetHook(func(call, _ string) error {
		if call == CallLock {
			return errors.ErrUnsupported
		}
		return nil
	})
	defer SetHook(nil)
	f, err := CreateFile(filepath.Join(dir, "m"))
	if err != nil {
		t.Fatal(err)
	}
	if name := filepath.Base(f.Name()); isLocked(name) || f.held != nil {
		t.Errorf("%s seems locked", name)
	}
	left := entries(t, dir)
	SetHook(nil)
	replace(t, filepath.Join(dir, "m"), "new", false)
	f.Abort()
	if len(left) != 3 {
		t.Errorf("%q", left)
	}
	if d := cmp.Diff([]string{".m.0123456789ab.tmp", "m"}, entries(t, dir)); d != "" {
		t.Error(d)
	}
}

// TestWritersAtOnce: concurrent writers in a directory do not remove each other's files.
func TestWritersAtOnce(t *testing.T) {
	dir := t.TempDir()
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for n := range 20 {
				replace(t, filepath.Join(dir, fmt.Sprint(i)), fmt.Sprint(n), false)
				Busy(dir)
			}
		})
	}
	wg.Wait()
	if d := cmp.Diff([]string{"0", "1", "2", "3", "4", "5", "6", "7"}, entries(t, dir)); d != "" {
		t.Error(d)
	}
}
