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

	"github.com/weightmap/weightmap/internal/testhost"
)

var sink byte

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
	alive(err)
	b := r.Bytes()
	switch name {
	case "after-close":
		alive(r.Expose())
		alive(r.Close())
		_, err := Open(path, Options{})
		alive(err)
	case "after-unpin":
		unpin, err := r.Pin()
		alive(err)
		alive(r.Close())
		sink = b[0]
		unpin()
	}
	os.Stdout.WriteString("ready\n")
	sink = b[0]
	runtime.KeepAlive(r)
}

func alive(err error) {
	if err != nil {
		os.Stdout.WriteString(err.Error() + "\n")
		os.Exit(3)
	}
}
