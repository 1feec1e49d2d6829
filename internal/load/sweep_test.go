package load

import (
	"context"
	"errors"
	"path/filepath"
	"testing"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/testhost"
)

// TestVerifySweeps: verification evicts the pages that it brought into memory, of large tensors,
// of small ones and of other files, and none of a model that was used.
func TestVerifySweeps(t *testing.T) {
	testhost.NeedResident(t)
	const most = 2 * sweepEvery
	large := []driver.Tensor{u8("first", 0, 2<<20), u8("a", 8<<20, 24<<20), u8("b", 32<<20, 24<<20)}
	var small, files []driver.Tensor
	for i := range int64(560) {
		small = append(small, u8("", i*100<<10, 100<<10))
		small[i].Name = []byte{byte('a' + i%26), byte('a' + i/26)}
	}
	for i := range 14 {
		files = append(files, in(driver.Space(i+1), u8(string(rune('a'+i)), 0, 4<<20)))
	}
	dir := t.TempDir()
	for i := range 14 {
		put(t, filepath.Join(dir, string(rune('a'+i))), make([]byte, 4<<20))
	}
	put(t, filepath.Join(dir, "m.toy"), make([]byte, 56<<20))
	for what, tensors := range map[string][]driver.Tensor{"large": large, "small": small, "files": files} {
		for _, touched := range []bool{false, true} {
			d := &toy{tensors: tensors}
			if what == "files" {
				d.dir = func(dir driver.Dir) error {
					var errs []error
					for i := range 14 {
						_, err := dir.Declare(string(rune('a' + i)))
						errs = append(errs, err)
					}
					return errors.Join(errs...)
				}
			}
			m := openPath(t, filepath.Join(dir, "m.toy"), d)
			before := int64(0)
			if touched {
				if _, err := m.At(0).Digest(); err != nil {
					t.Fatal(err)
				}
				before = m.Stats().Resident
			}
			if _, err := m.Verify(context.Background(), &VerifyOptions{}); err != nil {
				t.Fatal(err)
			}
			if now := m.Stats().Resident; touched != (now > most) || now < before {
				t.Errorf("%s: %d bytes were resident before verification, %d are behind it", what, before, now)
			}
		}
	}
}
