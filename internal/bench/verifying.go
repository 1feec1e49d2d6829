package bench

import (
	"context"
	"crypto/sha256"
	"testing"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/floor"
)

// verifyVerdicts measures verifying an open file on two processors, relative to reading it on two. WIA
// is relative to SHA-256, which cannot be split.
func verifyVerdicts() (all []verdict) {
	const workers = 2
	verify := func(b *testing.B, name string, m Model) func() error {
		f, err := format.Open(File(b, name, m).Path, nil)
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { f.Close() })
		// Make the pages of the baseline resident too.
		for _, v := range f.Tensors() {
			if _, err := v.Digest(); err != nil {
				b.Fatal(err)
			}
		}
		return func() error {
			_, err := f.Verify(context.Background(), format.WithWorkers(workers))
			return err
		}
	}
	large := Models[1]
	for _, c := range []struct {
		name  string
		of    string
		m     Model
		limit float64
	}{{"mle", "mle", large, 1.15}, {"tsr", "tsr", single(large), 1.15}, {"tsr/directory", "tsr", large, 1.15}, {"mobi", "mobi", large, 1.3}, {"mag", "mag", large, 2.4}} {
		all = append(all, verdict{name: "verify/" + c.name, limit: c.limit, figure: func(b *testing.B) float64 {
			return floor.Pairs(b, floor.Rounds, verify(b, c.of, c.m), Reading(WholeFile(b, Plain(b, large)), workers))
		}})
	}
	return append(all, verdict{name: "verify/wia", limit: 1.05, figure: func(b *testing.B) float64 {
		_, data := large.Plan()
		return floor.Pairs(b, floor.Rounds, verify(b, "wia", large), func() error { hashed(len(data)); return nil })
	}})
}

// hashed hashes n bytes that are in the processor's cache.
func hashed(n int) {
	h := sha256.New()
	p := make([]byte, 1<<14)
	for ; n > len(p); n -= len(p) {
		h.Write(p)
	}
	h.Write(p[:n])
	h.Sum(nil)
}
