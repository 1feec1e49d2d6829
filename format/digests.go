package format

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"hash"
	"slices"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/pass"
	"github.com/weightmap/weightmap/internal/source"
	"github.com/weightmap/weightmap/internal/work"
	"github.com/weightmap/weightmap/tensor"
)

// mostRange is the size of the largest signed range that is compared by itself, when a byte of it
// is first used.
const mostRange = 16 << 20

// errDiffers is the error for bytes that are not those that were signed.
var errDiffers = fmt.Errorf("%w: %w", tensor.ErrSignature, tensor.ErrChecksum)

// signedRange is a range of a file with its digests.
type signedRange struct {
	off, end int64
	digests  []Digest // at least one
}

// checkDigest returns an error for a digest that no file can have.
func checkDigest(d *Digest) error {
	isWhole := d.Size == -1 && d.Offset == 0
	switch {
	case d.New == nil || len(d.Sum) == 0:
		return fmt.Errorf("%w: a Digest without New or Sum", tensor.ErrOption)
	case !isWhole && (d.Offset < 0 || d.Size < 0 || d.Offset+d.Size < 0):
		return fmt.Errorf("%w: a Digest of %d bytes at %d", tensor.ErrOption, d.Size, d.Offset)
	}
	return nil
}

// rangesOf returns the ranges of a file of size bytes that have digests, in order. There is at least
// one. It fails unless they cover all of the file.
func rangesOf(digests []Digest, size int64) ([]signedRange, error) {
	var ranges []signedRange
	for _, d := range digests {
		end := size
		if d.Size >= 0 {
			end = d.Offset + d.Size
		}
		if end > size {
			return nil, fmt.Errorf("%w: it has %d bytes, and %d are signed", errDiffers, size, end)
		}
		ranges = append(ranges, signedRange{d.Offset, end, []Digest{d}})
	}
	slices.SortStableFunc(ranges, func(a, b signedRange) int {
		return cmp.Or(cmp.Compare(a.off, b.off), cmp.Compare(a.end, b.end))
	})
	covered := int64(0)
	joined := ranges[:0]
	for _, r := range ranges {
		if r.off > covered {
			break
		}
		covered = max(covered, r.end)
		last := len(joined) - 1
		if last >= 0 && joined[last].off == r.off && joined[last].end == r.end {
			joined[last].digests = append(joined[last].digests, r.digests...)
			continue
		}
		joined = append(joined, r)
	}
	if covered < size {
		return nil, fmt.Errorf("%w: it has %d bytes, and those from %d on are not signed", tensor.ErrSignature, size, covered)
	}
	return joined, nil
}

// isCheckedByRange reports whether ranges are small enough to be compared one by one, and do not
// overlap.
func isCheckedByRange(ranges []signedRange) bool {
	covered := int64(0)
	for _, r := range ranges {
		if r.off != covered || r.end == r.off || r.end-r.off > mostRange {
			return false
		}
		covered = r.end
	}
	return true
}

// check compares the bytes of a range with its digests.
func (s *signedRange) check(b []byte) error {
	for _, d := range s.digests {
		h := d.New()
		h.Write(b)
		if !bytes.Equal(h.Sum(nil), d.Sum) {
			return s.differs()
		}
	}
	return nil
}

// differs is the error for a range that is not what was signed.
func (s *signedRange) differs() error {
	return fmt.Errorf("%w: it is not the file that was signed: bytes %d to %d differ", errDiffers, s.off, s.end)
}

// hashing says how files are hashed.
type hashing struct {
	ctx      context.Context
	memory   *driver.Memory
	fetchers int            // files that are read at the same time
	workers  int            // for one file
	report   Progress       // of one file, if progress is nil
	progress *work.Progress // of several files, nil for one
}

// hashAll reads ranges of a file, on several goroutines, and sets their sums.
func (in *hashing) hashAll(r *source.Region, ranges []pass.Hashed) error {
	p := in.progress
	if p == nil {
		p = &work.Progress{Report: in.report}
		for i := range ranges {
			p.Expect(ranges[i].End - ranges[i].Offset)
		}
	}
	r.Share()
	reads := pass.Pass{Context: in.ctx, Fetch: fetchSize(in.memory, workersOf(in.fetchers))}
	defer reads.Close()
	return reads.Hash(r, ranges, in.workers, func(n int64) { p.Done(n, r.Path()) })
}

// compareRanges hashes a sealed file and compares its ranges with their digests.
func (in *hashing) compareRanges(r *source.Region, ranges []signedRange) error {
	all := make([]pass.Hashed, len(ranges))
	for i, s := range ranges {
		all[i] = pass.Hashed{Offset: s.off, End: s.end}
		for _, d := range s.digests {
			all[i].News = append(all[i].News, d.New)
		}
	}
	if err := in.hashAll(r, all); err != nil {
		return err
	}
	for i, s := range ranges {
		for k, d := range s.digests {
			if !bytes.Equal(all[i].Sums[k], d.Sum) {
				return s.differs()
			}
		}
	}
	return nil
}

// compareAny compares a sealed file without a name with the digests of several files: it must be
// one of them.
func (in *hashing) compareAny(r *source.Region, files map[string][]Digest) error {
	// Each range is hashed once with each kind of hash, which is known by the hash of nothing.
	type kind struct {
		off, end int64
		empty    string
	}
	kindOf := func(s *signedRange, d *Digest) kind { return kind{s.off, s.end, string(d.New().Sum(nil))} }
	place := make(map[kind]int)
	var all []pass.Hashed
	var candidates [][]signedRange
	for _, digests := range files {
		ranges, err := rangesOf(digests, r.Size())
		if err != nil {
			continue // a file of another size
		}
		candidates = append(candidates, ranges)
		for i := range ranges {
			s := &ranges[i]
			for k := range s.digests {
				d := &s.digests[k]
				_, ok := place[kindOf(s, d)]
				if !ok {
					place[kindOf(s, d)] = len(all)
					all = append(all, pass.Hashed{Offset: s.off, End: s.end, News: []func() hash.Hash{d.New}})
				}
			}
		}
	}
	if err := in.hashAll(r, all); err != nil {
		return err
	}
	isThis := func(ranges []signedRange) bool {
		for i := range ranges {
			s := &ranges[i]
			for k := range s.digests {
				d := &s.digests[k]
				if !bytes.Equal(all[place[kindOf(s, d)]].Sums[0], d.Sum) {
					return false
				}
			}
		}
		return true
	}
	if !slices.ContainsFunc(candidates, isThis) {
		return fmt.Errorf("%w: it is none of the %d files that were signed", errDiffers, len(files))
	}
	return nil
}
