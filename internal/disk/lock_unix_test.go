//go:build linux || darwin || freebsd

package disk

import (
	"bufio"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/internal/testhost"
)

// lockOf locks a directory as another process does: by another descriptor. It returns nil if the lock is taken.
func lockOf(t *testing.T, dir string) *os.File {
	t.Helper()
	f, err := os.Open(dir)
	expect.OK(t, err)
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if err == nil {
		return f
	}
	f.Close()
	if !errors.Is(err, syscall.EWOULDBLOCK) {
		t.Skip("this file system does not lock directories: ", err)
	}
	return nil
}

// lockedWrites are the ways to publish that take the lock.
var lockedWrites = map[string]func(dir string) error{
	"parts":  toyModel{parts: []string{"a", "b"}}.in,
	"a file": toyModel{text: "c"}.in,
	"split":  func(dir string) error { return writeSplit(dir, 2) },
}

// TestLockIsHeld: while a writer gives files their names, it has the lock, and afterwards it does not.
func TestLockIsHeld(t *testing.T) {
	for name, write := range lockedWrites {
		dir := t.TempDir()
		seen := 0
		SetHook(func(c Call) error {
			if c.Name == "link" || c.Name == "rename" {
				seen++
				if f := lockOf(t, dir); f != nil {
					f.Close()
					t.Errorf("%s: no writer has the lock at %s", name, c.Name)
				}
			}
			return nil
		})
		err := write(dir)
		SetHook(nil)
		expect.OK(t, err)
		f := lockOf(t, dir)
		if f == nil || seen == 0 {
			t.Errorf("%s: the lock is still held, or nothing was renamed", name)
			continue
		}
		f.Close()
	}
}

// TestLockOfOthers: a writer waits for the lock of another process, but does without it in the end.
func TestLockOfOthers(t *testing.T) {
	defer func(old time.Duration) { patience = old }(patience)
	for name, write := range lockedWrites {
		dir := t.TempDir()
		other := lockOf(t, dir)
		patience = 0
		expect.OK(t, write(dir))
		other.Close()

		dir = t.TempDir()
		other = lockOf(t, dir)
		patience = 10 * time.Minute // against hanging
		var isFree atomic.Bool
		waits := make(chan bool, 1)
		SetHook(func(c Call) error {
			switch {
			case c.Name == "lock":
				waits <- true
			case (c.Name == "link" || c.Name == "rename") && !isFree.Load():
				t.Errorf("%s: a change without the lock: %s", name, c.Name)
			}
			return nil
		})
		done := make(chan error)
		go func() { done <- write(dir) }()
		<-waits
		isFree.Store(true)
		other.Close()
		expect.OK(t, <-done)
		SetHook(nil)
	}
}

// lockChild is the directory in which a child process writes. It stops while it has the lock until its standard input ends.
const lockChild = "WEIGHTMAP_TEST_LOCK"

// TestLockOfProcess: a writer in another process that is publishing has the lock.
func TestLockOfProcess(t *testing.T) {
	testhost.NeedChildren(t)
	if dir := os.Getenv(lockChild); dir != "" {
		SetHook(func(c Call) error {
			if c.Name == "rename" && filepath.Base(c.Path) == "m.index" {
				os.Stdout.WriteString("publishing\n")
				_, _ = io.Copy(io.Discard, os.Stdin)
			}
			return nil
		})
		expect.OK(t, toyModel{parts: []string{"a", "b"}}.in(dir))
		return
	}
	dir := t.TempDir()
	c := exec.Command(os.Args[0], "-test.run=^TestLockOfProcess$")
	c.Env = append(os.Environ(), lockChild+"="+dir)
	in, err := c.StdinPipe()
	expect.OK(t, err)
	out, err := c.StdoutPipe()
	expect.OK(t, err)
	expect.OK(t, c.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || line != "publishing\n" {
		t.Errorf("the child says %q, %v", line, err)
	}
	if f := lockOf(t, dir); f != nil {
		f.Close()
		t.Error("the child does not have the lock")
	}
	expect.OK(t, in.Close())
	_, _ = io.Copy(io.Discard, out)
	expect.OK(t, c.Wait())
	listed, _ := models(t, dir)
	expect.Equal(t, "ab", listed)
	f := lockOf(t, dir)
	if f == nil {
		t.Fatal("the lock is still held")
	}
	f.Close()
}
