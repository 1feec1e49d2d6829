package source

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/weightmap/weightmap/internal/testhost"
	"github.com/weightmap/weightmap/tensor"
	"golang.org/x/sys/unix"
)

// lockedMemory returns how many kB the process has locked.
func lockedMemory(t *testing.T) int { return kilobytes(t, "status", "\nVmLck:") }

// TestLock: what is locked stays, until Close and no longer, also where that keeps the
// addresses.
func TestLock(t *testing.T) {
	testhost.NeedResident(t)
	const size = 100000
	path := temp(t, ramp(size))
	for _, o := range []Options{{}, {Debug: true}} {
		before := lockedMemory(t)
		for i, r := range []*Region{mustOpen(t, path, o), mustOpenFile(t, path, 5001, 40000, o)} {
			must(t, r.Lock(t.Context()))
			want := int64([]int{size, 40000}[i])
			if err := evict(r); err != nil || r.Locked() != want || residentOf(r) != want {
				t.Errorf("%+v: %v, %d bytes are locked, %d resident, want %d", o, err, r.Locked(), residentOf(r), want)
			}
			if now := lockedMemory(t); now <= before {
				t.Errorf("%+v: %d kB are locked, %d before", o, now, before)
			}
			if err := r.Lock(t.Context()); err != nil || r.Locked() != want {
				t.Errorf("%+v: locked again: %v, %d bytes", o, err, r.Locked())
			}
			must(t, r.Close())
		}
		if now := lockedMemory(t); now != before {
			t.Errorf("%+v: %d kB are locked after Close, %d before", o, now, before)
		}
	}
}

// TestLockCanceled: bringing much into memory ends with its context.
func TestLockCanceled(t *testing.T) {
	r := mustOpen(t, temp(t, ramp(5000)), Options{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := r.Lock(ctx); !errors.Is(err, context.Canceled) || r.Locked() != 0 {
		t.Error(err)
	}
}

// TestLockCut: pages that the file has lost are an error, which is not taken for a limit.
func TestLockCut(t *testing.T) {
	testhost.NeedCuts(t)
	path := temp(t, ramp(100000))
	r := mustOpen(t, path, Options{})
	must(t, os.Truncate(path, 5000))
	if err := r.Lock(t.Context()); !errors.Is(err, tensor.ErrTruncated) || errors.Is(err, tensor.ErrLimit) {
		t.Error(err)
	}
}

// TestLockLimit: a limit is told as such.
func TestLockLimit(t *testing.T) {
	r := mustOpen(t, temp(t, ramp(5000)), Options{})
	t.Cleanup(func() { lockPages = lockMemory })
	for _, no := range []error{unix.ENOMEM, unix.EPERM, unix.EAGAIN} {
		lockPages = func([]byte) error { return no }
		err := r.Lock(t.Context())
		if !errors.Is(err, tensor.ErrLimit) || !errors.Is(err, no) || !strings.Contains(err.Error(), "RLIMIT_MEMLOCK") || r.Locked() != 0 {
			t.Errorf("%v: %v", no, err)
		}
	}
}
