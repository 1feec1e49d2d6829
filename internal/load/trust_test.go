package load

import (
	"bytes"
	"crypto/ed25519"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/source"
)

// TestParsedBytesAreSigned: a signature covers the bytes that were parsed, or the check fails, in whatever pieces they
// were read and are hashed.
func TestParsedBytesAreSigned(t *testing.T) {
	const size = 3 << 20
	data := ramp(size)
	r := rand.New(rand.NewPCG(1, 2))
	for range 100 {
		var reads [5][2]int
		for i := range reads {
			off := r.IntN(size)
			reads[i] = [2]int{off, off + 1 + r.IntN(min(size-off, 1<<20))}
		}
		at := r.IntN(size)
		m := new(Model)
		d := &toy{before: func(src driver.Source) (err error) {
			for _, p := range reads {
				_, err = src.Slice(int64(p[0]), int64(p[1]-p[0]))
			}
			return err
		}}
		must(t, m.Open(source.FromBytes(data), config(d)))
		v := newVerification(m, t.Context(), &VerifyOptions{})
		v.authenticating = true
		data[at]++
		from := r.IntN(at + 1)
		to := at + 1 + r.IntN(size-at)
		var fed bytes.Buffer
		err := v.Feed(&fed, 0, int64(from), int64(to-from), "")
		isParsed := slices.ContainsFunc(reads[:], func(p [2]int) bool { return p[0] <= at && at < p[1] })
		if isParsed != errors.Is(err, driver.ErrSignature) {
			t.Fatalf("byte %d, reads %v, fed %d to %d: %v", at, reads, from, to, err)
		}
		if !isParsed && !bytes.Equal(fed.Bytes(), data[from:to]) {
			t.Fatal("other bytes")
		}
		data[at]--
		m.Close()
	}
}

// TestTrustedWithoutSignatures: a signature cannot be demanded of a format that has none.
func TestTrustedWithoutSignatures(t *testing.T) {
	demand := func(c *Config) { c.Options.Trusted = make(ed25519.PublicKey, 32) }
	if err := new(Model).Open(source.FromBytes(ramp(8)), config(&toy{}, demand)); !errors.Is(err, driver.ErrSignature) {
		t.Errorf("%v", err)
	}
	d := &toy{dir: func(driver.Dir) error { return nil }}
	if err := new(Model).OpenDir(config(d, demand, func(c *Config) { c.Path = t.TempDir() }), nil); !errors.Is(err, driver.ErrSignature) {
		t.Errorf("a directory: %v", err)
	}
}
