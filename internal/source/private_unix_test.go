//go:build linux || darwin

package source

import (
	"bytes"
	"errors"
	"os"
	"testing"
	"time"

	"github.com/weightmap/weightmap/tensor"
)

// copying has f called after each copy that is made.
func copying(t *testing.T, f func()) {
	testHookCopied = f
	t.Cleanup(func() { testHookCopied = nil })
}

// TestPrivateChanging: a copy is of one moment. A file that changes while it is copied is
// copied again, also if its size and its times are put back, and at last refused.
func TestPrivateChanging(t *testing.T) {
	old, now := bytes.Repeat([]byte("old!"), 5000), bytes.Repeat([]byte("now!"), 5000)
	path := temp(t, old)
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	change := func() {
		overwrite(t, path, now)
		if err := os.Chtimes(path, info.ModTime(), info.ModTime()); err != nil {
			t.Error(err)
		}
	}
	a := &account{most: 1 << 30}
	twins(t, path, Options{Memory: a}, func(t *testing.T, open func() (*Region, error), from int) {
		overwrite(t, path, old)
		a.used = 0
		copies := 0
		copying(t, func() {
			if copies++; copies == 1 {
				change()
			}
		})
		r, err := open()
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		if copies != 2 || !bytes.Equal(r.Bytes(), now[from:]) || r.Held() != a.used {
			t.Errorf("%d copies, the last has %q; it holds %d bytes, %d were counted", copies, r.Bytes()[:8], r.Held(), a.used)
		}
		a.Release(a.used)

		copies = 0
		copying(t, func() { copies++; change() })
		if _, err := open(); !errors.Is(err, ErrChanging) || !errors.Is(err, tensor.ErrCorrupt) || copies == 0 || copies > copyTries || a.used != 0 {
			t.Errorf("%d copies, %v, %d bytes counted", copies, err, a.used)
		}

		copies = 0
		copying(t, func() {
			if copies++; copies == 1 {
				err = errors.Join(os.Truncate(path, 6000), err)
			}
		})
		short, err := open()
		if err != nil || copies != 2 || short.Size() != 6000-int64(from) || short.Held() != a.used {
			t.Errorf("cut short meanwhile: %d copies, %v", copies, err)
		}
	})
}

// TestPrivateSettles: right after a change a second one may leave the same time, so
// copying waits; later it does not.
func TestPrivateSettles(t *testing.T) {
	path := temp(t, ramp(100))
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	s, err := stampOf(f)
	if err != nil {
		t.Fatal(err)
	}
	if _, ok, err := new(Options).await(f); err != nil || !ok || s.fresh() {
		t.Errorf("%v, %v; still fresh: %v", ok, err, s.fresh())
	}
	old := stamp{sec: time.Now().Add(-time.Hour).Unix(), nsec: 1}
	seconds := stamp{sec: time.Now().Unix()}
	if old.fresh() || !seconds.fresh() {
		t.Errorf("an hour old: %v, whole seconds: %v", old.fresh(), seconds.fresh())
	}
}
