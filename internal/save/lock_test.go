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

// halfWritten has the path of what a child process begins to write, and does not end.
const halfWritten = "WEIGHTMAP_TEST_HALF_WRITTEN"

func TestMain(m *testing.M) {
	if path := os.Getenv(halfWritten); path != "" {
		begin(path)
	}
	os.Exit(m.Run())
}

// begin is the child's whole life: it writes a file, or a directory where the path ends like one, and waits.
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
	_, _ = io.Copy(io.Discard, os.Stdin) // until it is killed, or the parent ends
}

// needLocks skips a test where what is left goes by its age.
func needLocks(t *testing.T) {
	t.Helper()
	if !lockable(t.TempDir()) {
		t.Skip("locks cannot be relied on here")
	}
}

// TestKilledWriter: what a writer leaves that was killed is removed by the next one in the directory, whatever it writes, and
// not as long as the first one lives.
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

// TestNoLock: what could not be locked has a name that says so, and is left alone for a day, as is what cannot be locked now.
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

// TestWritersAtOnce: writers that sweep the same directory take nothing from each other.
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
