package wia

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"io"
	"slices"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/wire"
)

// errands is what a verification does. Of tensors, which may be many in a small file,
// there are only numbers.
type errands struct {
	f       *parsed
	sums    []job    // of the blocks
	claims  []uint32 // those on external files, equal ranges side by side
	ends    []uint32 // of each range in claims
	inflate []uint32 // compressed tensors
}

// job is the check of one of the four sums.
type job struct {
	section string
	size    int64
	run     func(driver.Verification) error
}

// errands lists what is to be done, the largest part first. Equal ranges of external
// files are hashed once, however many tensors share them.
func (f *parsed) errands(v driver.Verification) *errands {
	e := &errands{f: f}
	block := v.All() || v.Trusted() != nil
	for i := range f.records {
		r := &f.records[i]
		switch {
		case !v.Wanted(i):
		case r.external:
			e.claims = append(e.claims, uint32(i))
		default:
			block = block || !r.graph
			if r.compressed && f.index.Loaded(i) {
				e.inflate = append(e.inflate, uint32(i))
			}
		}
	}
	for i := range f.hidden {
		e.claims = append(e.claims, uint32(len(f.records)+i))
	}
	if block {
		e.sums = append(e.sums, f.blockJob(sumOfTensors))
	}
	e.sums = append(e.sums, f.blockJob(sumOfGraph), f.blockJob(sumOfMetadata), f.blockJob(sumOfHeader))
	e.group()
	return e
}

// group puts equal ranges next to each other.
func (e *errands) group() {
	slices.SortFunc(e.claims, func(a, b uint32) int {
		x, y := e.f.claim(a).rng, e.f.claim(b).rng
		return cmp.Or(cmp.Compare(x.space, y.space), cmp.Compare(x.off, y.off), cmp.Compare(x.size, y.size), cmp.Compare(a, b))
	})
	for i := range e.claims {
		if i+1 == len(e.claims) || e.f.claim(e.claims[i]).rng != e.f.claim(e.claims[i+1]).rng {
			e.ends = append(e.ends, uint32(i+1))
		}
	}
}

// Len returns the number of errands.
func (e *errands) Len() int { return len(e.sums) + len(e.ends) + len(e.inflate) }

// shared returns the claims on a range.
func (e *errands) shared(i int) []uint32 {
	if i == 0 {
		return e.claims[:e.ends[0]]
	}
	return e.claims[e.ends[i-1]:e.ends[i]]
}

// size returns how many bytes an errand is about.
func (e *errands) size(i int) int64 {
	if i < len(e.sums) {
		return e.sums[i].size
	}
	if i -= len(e.sums); i < len(e.ends) {
		return e.f.claim(e.shared(i)[0]).rng.size
	}
	return e.f.index.Size(int(e.inflate[i-len(e.ends)]))
}

// run does an errand.
func (e *errands) run(v driver.Verification, i int) error {
	if i < len(e.sums) {
		return e.sums[i].run(v)
	}
	if i -= len(e.sums); i < len(e.ends) {
		return e.f.checkRange(v, e.shared(i))
	}
	t := int(e.inflate[i-len(e.ends)])
	err := e.f.Stream(t, io.Discard)
	v.Done(e.f.index.Size(t), e.f.index.Name(t))
	return err
}

// blockJob is the job for one of the four sums.
func (f *parsed) blockJob(sum int) job {
	s := span{0, headerSize}
	if sum != sumOfHeader {
		s = f.hdr.blocks[sum-1]
	}
	return job{section: sumNames[sum], size: s.size, run: func(v driver.Verification) error {
		got, err := sha256Of(v, extent{off: s.off, size: s.size}, sumNames[sum])
		if err == nil && got != f.sums[sum] {
			err = wire.Errorf(formatName, sumNames[sum], s.off, format.ErrChecksum, "SHA-256 of the block is %x, recorded %x", got[:8], f.sums[sum][:8])
		}
		return err
	}}
}

// sha256Of returns the SHA-256 of a range.
func sha256Of(v driver.Verification, e extent, part string) (sum [sha256.Size]byte, err error) {
	h := sha256.New()
	if err = v.Feed(h, e.space, e.off, e.size, part); err == nil {
		h.Sum(sum[:0])
	}
	return sum, err
}

// claim is what a tensor, -1 for one of an attribute, says of a range.
type claim struct {
	tensor int
	rng    extent
	sum    digest
}

// claim returns claim n: that of tensor n, or behind those of one of an attribute.
func (f *parsed) claim(n uint32) claim {
	if int(n) >= len(f.records) {
		h := &f.hidden[int(n)-len(f.records)]
		return claim{-1, h.rng, h.sum}
	}
	i := int(n)
	return claim{i, f.extentOf(i), f.digests[f.records[i].more]}
}

// checkRange checks that the range of an external file that all these claims are about
// exists and has the sums that it should have.
func (f *parsed) checkRange(v driver.Verification, claims []uint32) error {
	first := f.claim(claims[0])
	part, summed := "graph", false
	for _, n := range claims {
		c := f.claim(n)
		summed = summed || c.sum.set
		if c.tensor >= 0 {
			part = f.index.Name(c.tensor)
		}
	}
	e := first.rng
	if !summed {
		_, err := v.Hash(driver.NoSum, e.space, e.off, e.size, part)
		return f.externalError(first.tensor, err)
	}
	got, err := sha256Of(v, e, part)
	if err != nil {
		return f.externalError(first.tensor, err)
	}
	for _, n := range claims {
		if c := f.claim(n); c.sum.set && got != c.sum.sum {
			return f.externalError(c.tensor, fmt.Errorf("%w: SHA-256 of %d bytes at %d of %q is %x, recorded %x",
				format.ErrChecksum, e.size, e.off, f.location(e.space), got[:8], c.sum.sum[:8]))
		}
	}
	return nil
}
