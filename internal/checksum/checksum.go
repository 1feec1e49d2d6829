// Package checksum computes checksums of any driver.Kind.
package checksum

import (
	"sync/atomic"

	"github.com/cespare/xxhash/v2"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/tensor"
)

// kinds has the functions of the kinds that can be combined, all but XXH64. Those of NoSum only
// read the bytes.
var kinds = [...]struct {
	empty   uint32
	update  func(sum uint32, b []byte) uint32
	combine func(a, b uint32, n int64) uint32
}{
	driver.NoSum:   {0, probe, zero},
	driver.CRC32:   {0, tensor.UpdateCRC32, tensor.CombineCRC32},
	driver.CRC32C:  {0, tensor.UpdateCRC32C, tensor.CombineCRC32C},
	driver.Adler32: {1, tensor.UpdateAdler32, tensor.CombineAdler32},
}

// page is the smallest page size of any system.
const page = 4096

// witness keeps the compiler from eliminating reads whose values are not used.
var witness atomic.Uint32

// probe reads a byte of every page of b, so that missing pages fault, and returns 0.
func probe(_ uint32, b []byte) uint32 {
	if len(b) == 0 {
		return 0
	}
	x := b[len(b)-1]
	for at := 0; at < len(b); at += page {
		x |= b[at]
	}
	witness.Store(uint32(x))
	return 0
}

// zero combines sums of kind NoSum.
func zero(a, b uint32, n int64) uint32 { return 0 }

// Empty returns the checksum of no bytes. It does not support XXH64.
func Empty(k driver.Kind) uint64 { return uint64(kinds[k].empty) }

// Update returns the checksum of the bytes that gave sum, followed by b. It
// does not support XXH64, which cannot be continued from a sum.
func Update(k driver.Kind, sum uint64, b []byte) uint64 {
	return uint64(kinds[k].update(uint32(sum), b))
}

// Of returns the checksum of b.
func Of(k driver.Kind, b []byte) uint64 {
	if k == driver.XXH64 {
		return xxhash.Sum64(b)
	}
	return Update(k, Empty(k), b)
}

// Combine returns the checksum of two consecutive parts with checksums a and b,
// the second of n bytes. It does not support XXH64.
func Combine(k driver.Kind, a, b uint64, n int64) uint64 {
	return uint64(kinds[k].combine(uint32(a), uint32(b), n))
}

// Digest is an io.Writer that computes the checksum of the bytes written to it.
// For NoSum it is 0.
type Digest struct {
	kind driver.Kind
	sum  uint64
	xx   xxhash.Digest // for XXH64
}

// New returns a Digest to which nothing has been written.
func New(k driver.Kind) (d Digest) {
	if d.kind = k; k == driver.XXH64 {
		d.xx.Reset()
	} else {
		d.sum = Empty(k)
	}
	return d
}

// Write implements io.Writer.
func (d *Digest) Write(b []byte) (int, error) {
	if d.kind == driver.XXH64 {
		return d.xx.Write(b)
	}
	d.sum = Update(d.kind, d.sum, b)
	return len(b), nil
}

// Sum64 returns the checksum of the bytes written so far.
func (d *Digest) Sum64() uint64 {
	if d.kind == driver.XXH64 {
		return d.xx.Sum64()
	}
	return d.sum
}

// Counter is a Digest of bytes that count as done in a verification. It fails when that is
// canceled.
type Counter struct {
	Digest
	v    driver.Verification
	part string
}

// Count returns a Counter of the bytes of a part of the file.
func Count(v driver.Verification, k driver.Kind, part string) *Counter {
	return &Counter{New(k), v, part}
}

// Write implements io.Writer.
func (c *Counter) Write(b []byte) (int, error) {
	if err := c.v.Context().Err(); err != nil {
		return 0, err
	}
	c.v.Done(int64(len(b)), c.part)
	return c.Digest.Write(b)
}
