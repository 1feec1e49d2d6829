package load

import (
	"bytes"
	"crypto/ed25519"
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/source"
)

// changing is a reader whose bytes are others at each call.
type changing struct{ calls byte }

func (c *changing) ReadAt(p []byte, off int64) (int, error) {
	c.calls++
	for i := range p {
		p[i] = c.calls + byte(off) + byte(i)
	}
	return len(p), nil
}

// TestRecorder: what was read once is the same when it is read again, in whatever
// pieces, and what is fed is what was read.
func TestRecorder(t *testing.T) {
	const size = 500
	r := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		region := source.FromReaderAt(&changing{}, size)
		s := &spaces{structure: structure{keep: true}}
		rec := &file{Region: region, s: s}
		var known [size]bool
		var want [size]byte
		for range 20 {
			off := r.IntN(size)
			n := r.IntN(min(size-off, 60) + 1)
			var got []byte
			var err error
			if r.IntN(2) == 0 {
				got, err = rec.Slice(int64(off), int64(n))
			} else {
				got = make([]byte, n)
				_, err = rec.ReadAt(got, int64(off))
			}
			if err != nil || len(got) != n {
				t.Fatal(len(got), err)
			}
			for i, b := range got {
				if k := off + i; known[k] && want[k] != b {
					t.Fatalf("byte %d was %d and is %d", k, want[k], b)
				} else {
					known[k], want[k] = true, b
				}
			}
		}
		from := r.IntN(size)
		n := r.IntN(size - from + 1)
		var fed bytes.Buffer
		done := 0
		live := func(off, n int64) error { done += int(n); fed.Write(make([]byte, n)); return nil }
		if err := s.structure.feed(&fed, 0, int64(from), int64(n), live, func(n int64) { done += int(n) }); err != nil || done != n {
			t.Fatal(done, n, err)
		}
		expect := make([]byte, n)
		for i := range expect {
			if known[from+i] {
				expect[i] = want[from+i]
			}
		}
		if diff := cmp.Diff(expect, append([]byte{}, fed.Bytes()...)); diff != "" {
			t.Fatal(diff)
		}
		if rec.InMemory() {
			t.Fatal("a recorder's bytes are not for free")
		}
		s.structure.stop()
	}
}

// TestTrustedWithoutSignatures: a signature cannot be demanded of a format that has none.
func TestTrustedWithoutSignatures(t *testing.T) {
	demand := func(c *Config) { c.Options.Trusted = make(ed25519.PublicKey, 32) }
	for _, d := range []*toy{{}, {file: signs{}}} {
		err := new(Model).Open(source.FromBytes(ramp(8)), config(d, demand))
		if !errors.Is(err, driver.ErrSignature) {
			t.Errorf("%T: %v", d.file, err)
		}
	}
	d := &toy{dir: func(driver.Dir) error { return nil }}
	if err := new(Model).OpenDir(config(d, demand, func(c *Config) { c.Path = t.TempDir() }), nil); !errors.Is(err, driver.ErrSignature) {
		t.Errorf("a directory: %v", err)
	}
}
