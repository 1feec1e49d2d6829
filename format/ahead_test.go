package format

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/tensor"
)

// listed is a Trust in files by their SHA-256.
type listed map[string][]byte

func (l listed) Check(_ context.Context, u *Unverified) error {
	for name, b := range l {
		sum := sha256.Sum256(b)
		err := u.Require(name, Digest{Size: -1, New: sha256.New, Sum: sum[:]})
		if err != nil {
			return err
		}
	}
	return nil
}

// TestExpect: files that a driver announces are hashed once, before they are opened, and what is read of them later is what
// was hashed, or ErrSignature.
func TestExpect(t *testing.T) {
	const size = 300_000
	names := []string{"a", "b", "c"}
	for _, tt := range []struct {
		name   string
		before func(path string) error // Expect, of file b
		after  func(path string) error // Expect, before Open
		want   error
		hashed int64 // by Expect and by Open
	}{
		{"unchanged", nil, nil, nil, 3 * size},
		{"changed before", flipped, nil, tensor.ErrSignature, 0},
		{"changed before, restored after", flipped, flipped, tensor.ErrSignature, 0},
		{"changed after", nil, flipped, tensor.ErrSignature, 3 * size},
		{"another size after", nil, func(path string) error { return os.Truncate(path, size-1) }, tensor.ErrSignature, 3 * size},
		{"missing", os.Remove, nil, fs.ErrNotExist, 0},
		{"missing after", nil, os.Remove, fs.ErrNotExist, 3 * size},
		{"missing, there after", func(path string) error { return os.Rename(path, path+".x") }, func(path string) error { return os.Rename(path+".x", path) }, nil, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			trust := make(listed)
			for i, name := range names {
				trust[name] = ramp(size)
				trust[name][0] = byte(i)
				put(t, filepath.Join(dir, name), trust[name])
			}
			d := &toy{dir: func(dir driver.Dir) error {
				change := func(f func(string) error) {
					if f != nil {
						expect.OK(t, f(filepath.Join(dir.Path(), "b")))
					}
				}
				change(tt.before)
				dir.Expect(names)
				change(tt.after)
				for i, name := range names {
					src, space, err := dir.Open(name)
					if err != nil {
						return err
					}
					b, err := src.Slice(0, size)
					if err != nil {
						return err
					}
					if int(space) != i+1 || b[0] != byte(i) {
						return fmt.Errorf("%s is another file", name)
					}
				}
				return nil
			}}
			hashed := int64(0)
			m := &Model{}
			err := m.openTree(toyConfig(d, asDirectory(dir), func(c *config) {
				c.options.Trusted = trust
				c.options.Workers = 2
				c.options.Progress = func(done, total int64, _ string) {
					if done == total {
						hashed += total
					}
				}
			}))
			if !errors.Is(err, tt.want) || tt.want != nil && !errors.As(err, new(*tensor.Error)) {
				t.Errorf("%v, want %v", err, tt.want)
			}
			if err == nil {
				expect.OK(t, m.Close())
			}
			if tt.hashed > 0 && hashed != tt.hashed {
				t.Errorf("%d bytes were hashed, want %d", hashed, tt.hashed)
			}
		})
	}
}

// flipped changes the last byte of a file, or changes it back.
func flipped(path string) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	b[len(b)-1] ^= 1
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(b[len(b)-1:], int64(len(b)-1))
	return errors.Join(err, f.Close())
}
