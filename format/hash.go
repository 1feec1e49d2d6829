package format

import (
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/checksum"
	"github.com/weightmap/weightmap/internal/pass"
	"github.com/weightmap/weightmap/internal/source"
)

// partSize is the size from which a part of a file gets a separate goroutine.
const partSize = 4 << 20

// Hash implements driver.Verification.
func (v *verification) Hash(k driver.Kind, s driver.Space, off, size int64, part string) (uint64, error) {
	r, err := v.m.spaces.region(s)
	if err != nil {
		return 0, err
	}
	return v.hash(k, r, off, size, part, true)
}

// hash returns a checksum of a range. With wide it uses all workers if checksums of
// the kind can be combined.
func (v *verification) hash(k driver.Kind, r *source.Region, off, size int64, part string, wide bool) (uint64, error) {
	if err := r.Check(off, size); err != nil {
		return 0, err
	}
	partSize := int64(partSize)
	if r.IsReader() {
		partSize = max(partSize, v.pass.Fetch)
	}
	if !wide || k == driver.XXH64 || size < 2*partSize {
		return v.hashPart(k, r, off, size, part)
	}
	sums := make([]uint64, (size+partSize-1)/partSize)
	sizeOf := func(i int) int64 { return min(partSize, size-int64(i)*partSize) }
	err := v.Each(len(sums), func(i int) (err error) {
		sums[i], err = v.hashPart(k, r, off+int64(i)*partSize, sizeOf(i), part)
		return err
	})
	if err != nil {
		return 0, err
	}
	sum := checksum.Empty(k)
	for i, s := range sums {
		sum = checksum.Combine(k, sum, s, sizeOf(i))
	}
	return sum, nil
}

// hashPart returns a checksum of a range of r.
func (v *verification) hashPart(k driver.Kind, r *source.Region, off, size int64, part string) (uint64, error) {
	sum := checksum.New(k)
	err := v.pass.Pieces(pass.Range{File: r, Offset: off, Size: size}, func(b []byte) error {
		_, _ = sum.Write(b)
		if part != "" {
			v.Done(int64(len(b)), part)
		}
		return nil
	})
	return sum.Sum64(), err
}
