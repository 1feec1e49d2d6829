package load

import (
	"io"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/checksum"
	"github.com/weightmap/weightmap/internal/memory"
	"github.com/weightmap/weightmap/internal/source"
	"github.com/weightmap/weightmap/internal/work"
)

// partSize is the size from which a part of a file gets a separate goroutine.
const partSize = 4 << 20

// page is the distance between the bytes that probe reads: the smallest page size of
// any system.
const page = 4096

// witness keeps the compiler from eliminating reads whose values are not used.
var witness atomic.Uint32

// mostWorkers is the maximum number of verifying goroutines, each of which may have a buffer.
const mostWorkers = 256

func (v *verification) workers() int {
	if v.o.Workers > 0 {
		return min(v.o.Workers, mostWorkers)
	}
	return runtime.GOMAXPROCS(0)
}

// Hash implements driver.Verification.
func (v *verification) Hash(k driver.Kind, s driver.Space, off, size int64, part string) (uint64, error) {
	r, err := v.m.spaces.region(s)
	if err != nil {
		return 0, err
	}
	return v.hash(k, r, off, size, part, true)
}

// Rehash implements driver.Verification.
func (v *verification) Rehash(k driver.Kind, s driver.Space, off, size int64) (uint64, error) {
	return newVerification(v.m, v.ctx, &VerifyOptions{Workers: v.o.Workers}).Hash(k, s, off, size, "")
}

// hash returns a checksum of a range. With wide it uses all workers if checksums of
// the kind can be combined.
func (v *verification) hash(k driver.Kind, r *source.Region, off, size int64, part string, wide bool) (uint64, error) {
	if err := r.Check(off, size); err != nil {
		return 0, err
	}
	partSize := int64(partSize)
	if !r.InMemory() {
		partSize = max(partSize, v.step())
	}
	parts := int(size / partSize)
	if !wide || k == driver.XXH64 || parts < 2 {
		return v.hashPart(k, r, off, size, part)
	}
	sums := make([]uint64, parts)
	bound := func(i int) int64 {
		if i == parts {
			return size
		}
		return int64(i) * partSize
	}
	err := v.Each(parts, func(i int) (err error) {
		sums[i], err = v.hashPart(k, r, off+bound(i), bound(i+1)-bound(i), part)
		return err
	})
	if err != nil {
		return 0, err
	}
	sum := checksum.Empty(k)
	for i, s := range sums {
		sum = checksum.Combine(k, sum, s, bound(i+1)-bound(i))
	}
	return sum, nil
}

// hashPart returns a checksum of a range of r.
func (v *verification) hashPart(k driver.Kind, r *source.Region, off, size int64, part string) (uint64, error) {
	sum := checksum.New(k)
	err := v.feed(r, off, size, part, func(b []byte) {
		if _, _ = sum.Write(b); k == driver.NoSum && r.InMemory() {
			probe(b)
		}
	})
	return sum.Sum64(), err
}

// Feed implements driver.Verification.
func (v *verification) Feed(h io.Writer, s driver.Space, off, size int64, part string) error {
	r, err := v.m.spaces.region(s)
	if err == nil {
		err = r.Check(off, size)
	}
	if err != nil {
		return err
	}
	return v.feedParsed(h, s, r, off, size, part)
}

var steps = sync.Pool{New: func() any { b := make([]byte, work.Step); return &b }}

// buffer returns at least n bytes from the pool steps.
func buffer(n int64) *[]byte {
	buf := steps.Get().(*[]byte)
	if n > int64(len(*buf)) {
		*buf = make([]byte, n)
	}
	return buf
}

// readStep is the number of bytes read from a reader at a time. It is large since the reader may be
// remote, or fetch parts concurrently.
const readStep = 8 << 20

// step returns readStep, or less if the memory limit requires it.
func (v *verification) step() int64 {
	return min(readStep, max(work.Step, v.m.memory.Left()/int64(2*v.workers())))
}

// feed calls f with consecutive pieces of a range of r.
func (v *verification) feed(r *source.Region, off, size int64, part string, f func([]byte)) error {
	if r.InMemory() {
		b, err := r.Slice(off, size)
		if err != nil {
			return err
		}
		return work.Chunks(v.ctx, b, v.progress, part, func(b []byte) {
			for step := range slices.Chunk(b, memory.PopulateStep) {
				r.Populate(off, int64(len(step)))
				f(step)
				v.used(r, off, int64(len(step)))
				off += int64(len(step))
			}
		})
	}
	return v.copied(r, off, size, copyStep, func(b []byte) error {
		f(b)
		v.Done(int64(len(b)), part)
		return nil
	})
}

// copyStep is the number of bytes of a mapping copied at a time, so that they stay in a cache.
const copyStep = 16 << 10

// copied calls f with consecutive pieces of a range of r, of at most most bytes, in private memory: assembly with a
// stack frame, such as SHA-256, must not fault since the runtime cannot unwind it. From a reader the pieces are larger.
func (v *verification) copied(r *source.Region, off, size, most int64, f func([]byte) error) error {
	if !r.InMemory() {
		most = max(most, v.step())
	}
	buf := buffer(min(size, most))
	defer steps.Put(buf)
	start, end := off, off+size
	for off < end {
		if (off-start)%memory.PopulateStep == 0 {
			r.Populate(off, min(end-off, memory.PopulateStep))
		}
		b := (*buf)[:min(end-off, most)]
		if _, err := r.ReadAtContext(v.ctx, b, off); err != nil {
			return err
		}
		if err := v.ctx.Err(); err != nil {
			return err
		}
		if err := f(b); err != nil {
			return err
		}
		v.used(r, off, int64(len(b)))
		off += int64(len(b))
	}
	return v.ctx.Err()
}

// probe reads a byte of every page of b, so that missing pages fault.
func probe(b []byte) {
	if len(b) == 0 {
		return
	}
	x := b[len(b)-1]
	for at := 0; at < len(b); at += page {
		x |= b[at]
	}
	witness.Store(uint32(x))
}
