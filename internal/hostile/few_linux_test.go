package hostile

import (
	"context"
	"errors"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/weightmap/weightmap/format"
)

// TestOpenedWithFewDescriptors: a model that opened with as few descriptors as a process may have can be used
// once there are more.
func TestOpenedWithFewDescriptors(t *testing.T) {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Skip(err)
	}
	for _, s := range samples(t) {
		dir := t.TempDir()
		store(t, dir, s.files[0])
		opened := 0
		for n := uint64(0); n < 1000 && opened < 4; n++ {
			few := syscall.Rlimit{Cur: n, Max: limit.Max}
			if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &few); err != nil {
				t.Skip(err)
			}
			m, err := format.Open(filepath.Join(dir, s.open), s.options())
			if err == nil {
				_ = each(m, bytesOf)
			}
			if back := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit); back != nil {
				t.Fatal(back)
			}
			if err != nil {
				if !errors.Is(err, syscall.EMFILE) {
					t.Errorf("%v with %d descriptors: %v", s, n, err)
				}
				continue
			}
			opened++
			_, err = m.Verify(context.Background())
			if err = errors.Join(err, each(m, bytesOf), m.Close()); err != nil {
				t.Errorf("%v opened with %d descriptors: %v", s, n, err)
			}
		}
	}
}
