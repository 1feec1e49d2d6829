//go:build linux || darwin

package source

import (
	"bytes"
	"errors"
	"os"
	"syscall"
	"testing"

	"github.com/weightmap/weightmap/tensor"
	"golang.org/x/exp/mmap"
)

// noMore has the system refuse mappings during a test.
func noMore(t *testing.T) {
	mapFile = func(string) (*mmap.ReaderAt, error) { return nil, syscall.ENOMEM }
	t.Cleanup(func() { mapFile = mmap.Open })
}

// openings opens a file as a whole and from its second page on.
func openings(t *testing.T, path string, o Options, each func(t *testing.T, r *Region, base int64)) {
	t.Run("Open", func(t *testing.T) { each(t, mustOpen(t, path, o), 0) })
	t.Run("OpenFile", func(t *testing.T) { each(t, mustOpenFile(t, path, 4096, -1, o), 4096) })
}

// TestOnDemand: what is not mapped is read through the file that was opened, whatever has
// its name by then, while it is parsed and afterwards, and takes no memory.
func TestOnDemand(t *testing.T) {
	noMore(t)
	data := ramp(3 << 20)
	for _, parse := range []bool{true, false} {
		path := temp(t, data)
		openings(t, path, Options{Parse: parse}, func(t *testing.T, r *Region, from int64) {
			must(t, os.Rename(path, path+".old"))
			defer os.Rename(path+".old", path)
			want := data[from:]
			read := func() {
				t.Helper()
				for _, at := range [][2]int{{0, 10}, {16<<10 - 3, 8}, {20 << 10, 2 << 20}, {len(want) - 4, 4}, {len(want), 0}} {
					b, err := r.Slice(int64(at[0]), int64(at[1]))
					if err != nil || !bytes.Equal(b, want[at[0]:][:at[1]]) {
						t.Errorf("%d bytes at %d: %v", at[1], at[0], err)
					}
				}
			}
			if b, err := r.Head(256); err != nil || !bytes.Equal(b, want[:256]) {
				t.Errorf("Head: %d bytes, %v", len(b), err)
			}
			read()
			r.Parsed()
			read()
			if !r.OnDemand() || r.InMemory() || r.Mapped() || r.Held() != 0 || r.Bytes() != nil || residentOf(r) != 0 {
				t.Error("it is not read on demand, or is memory")
			}
			must(t, errors.Join(prefetch(r, 0, 100), evict(r), r.Close()))
			if _, err := r.Slice(0, 1); !errors.Is(err, tensor.ErrClosed) {
				t.Errorf("after Close: %v", err)
			}
			if err := r.Close(); err != nil {
				t.Errorf("closed again: %v", err)
			}
		})
	}
}

// account is an Account that counts.
type account struct{ most, used int64 }

func (a *account) Reserve(n int64) error {
	if a.used+n > a.most {
		return tensor.ErrLimit
	}
	a.used += n
	return nil
}

func (a *account) Release(n int64) { a.used -= n }
