//go:build linux || darwin

package source

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weightmap/weightmap/internal/testhost"
	"github.com/weightmap/weightmap/tensor"
)

var sink byte

// cut opens 8 pages from offset off of a file and truncates it so that keep
// pages of the window are left.
func cut(t *testing.T, off, keep int, o Options) *Region {
	t.Helper()
	testhost.NeedCuts(t)
	page := os.Getpagesize()
	path := temp(t, ramp(off+8*page))
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r, err := OpenFile(f, int64(off), int64(8*page), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	if !r.Mapped() {
		t.Skip("descriptors cannot be mapped here")
	}
	r.SetOrigin("mag", "m.mag")
	if err := os.Truncate(path, int64(off+keep*page)); err != nil {
		t.Fatal(err)
	}
	return r
}

func TestTruncatedWhileMapped(t *testing.T) {
	page := os.Getpagesize()
	for _, off := range []int{0, page, 2 * page} {
		r := cut(t, off, 3, Options{})
		p := make([]byte, 8*page)
		n, err := r.ReadAt(p, 10)
		checkCut(t, err, int64(3*page), int64(3*page))
		if n != 3*page-10 || !bytes.Equal(p[:n], ramp(off + 8*page)[off+10:off+10+n]) {
			t.Errorf("read %d bytes before the fault, want %d", n, 3*page-10)
		}
		err = r.Guard(func() error { sink = r.Bytes()[5*page+7]; return nil })
		checkCut(t, err, int64(5*page), int64(5*page+7))
		err = r.Guard(func() error {
			_ = r.Guard(func() error { sink = r.Bytes()[6*page]; return nil })
			return errDisk
		})
		if err != errDisk {
			t.Errorf("error after an inner fault: %v", err)
		}
		if n, err := r.ReadAt(p[:3*page], 0); n != 3*page || err != nil {
			t.Errorf("the part that is left: %d, %v", n, err)
		}
	}
}

// checkCut wants the error of a truncation seen at an offset from lo to hi:
// some processors report the page only.
func checkCut(t *testing.T, err error, lo, hi int64) {
	t.Helper()
	var e *tensor.Error
	if !errors.As(err, &e) || !errors.Is(err, tensor.ErrTruncated) {
		t.Fatalf("error %v, want ErrTruncated", err)
	}
	if e.Offset < lo || e.Offset > hi {
		t.Errorf("offset %d, want %d to %d", e.Offset, lo, hi)
	}
	want := &tensor.Error{Format: "mag", Path: "m.mag", Offset: e.Offset, Err: ErrCut}
	if diff := cmp.Diff(want.Error(), err.Error()); diff != "" {
		t.Error(diff)
	}
}

// die runs one of the cases of TestMain's child process, which must end by a
// signal for memory, and returns what it wrote.
func die(t *testing.T, name, arg string, signals ...string) {
	t.Helper()
	testhost.NeedChildren(t)
	self, err := os.Executable()
	if err != nil {
		t.Skip("cannot start a child:", err)
	}
	c := exec.Command(self, arg)
	c.Env = append(os.Environ(), childEnv+"="+name, "GOTRACEBACK=none")
	out, err := c.CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		t.Fatalf("the child lives, or never did: %v\n%s", err, out)
	}
	if !bytes.Contains(out, []byte("ready\n")) {
		t.Fatalf("the child died early:\n%s", out)
	}
	for _, s := range signals {
		if bytes.Contains(out, []byte("[signal "+s)) || strings.Contains(exit.Error(), s) {
			return
		}
	}
	t.Errorf("the child died of something else: %v\n%s", err, out)
}

// In debug mode a slice kept beyond Close ends the program at once, be other
// files mapped since or not.
func TestUseAfterCloseInDebugModeIsFatal(t *testing.T) {
	for _, name := range []string{"after-close", "after-unpin"} {
		t.Run(name, func(t *testing.T) {
			die(t, name, temp(t, ramp(4*os.Getpagesize())), "SIGSEGV", "SIGBUS")
		})
	}
}

const childEnv = "WEIGHTMAP_MAPPED_CHILD"

func TestMain(m *testing.M) {
	if name := os.Getenv(childEnv); name != "" {
		child(name, os.Args[1])
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// child does what must kill the process.
func child(name, path string) {
	r, err := Open(path, Options{Debug: true})
	must(err)
	b := r.Bytes()
	switch name {
	case "truncated":
		must(os.Truncate(path, 0))
	case "after-close":
		must(r.Expose())
		must(r.Close())
		_, err := Open(path, Options{})
		must(err)
	case "after-unpin":
		unpin, err := r.Pin()
		must(err)
		must(r.Close())
		sink = b[0]
		unpin()
	}
	os.Stdout.WriteString("ready\n")
	sink = b[0]
	runtime.KeepAlive(r)
}

func must(err error) {
	if err != nil {
		os.Stdout.WriteString(err.Error() + "\n")
		os.Exit(3)
	}
}
