package pass

import (
	"hash"

	"github.com/weightmap/weightmap/internal/work"
)

// Hashed is a range of a file that is hashed with several hashes at once.
type Hashed struct {
	Offset, End int64
	News        []func() hash.Hash
	Sums        [][]byte // the results
}

// Hash reads ranges of a file on up to workers goroutines, and sets their sums. It calls done, also
// concurrently, with the numbers of bytes.
func (p *Pass) Hash(f File, ranges []Hashed, workers int, done func(n int64)) error {
	return work.Each(p.context(), len(ranges), workers, func(i int) error {
		h := &ranges[i]
		hashes := make([]hash.Hash, len(h.News))
		for k, f := range h.News {
			hashes[k] = f()
		}
		err := p.Pieces(Range{File: f, Offset: h.Offset, Size: h.End - h.Offset, IsPrivate: true}, func(b []byte) error {
			for _, to := range hashes {
				to.Write(b)
			}
			done(int64(len(b)))
			return nil
		})
		if err != nil {
			return err
		}
		for _, from := range hashes {
			h.Sums = append(h.Sums, from.Sum(nil))
		}
		return nil
	})
}
