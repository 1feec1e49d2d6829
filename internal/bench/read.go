package bench

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/checksum"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/internal/floor"
	"github.com/weightmap/weightmap/internal/work"
	"github.com/weightmap/weightmap/tensor"
)

// verify measures verifying an open file on two processors, relative to reading it on two. WIA
// is relative to SHA-256, which cannot be split, of data in the processor's cache.
func (t *table) verify() {
	const workers = 2
	hashing := func(b *testing.B) func() error {
		_, data := large.Schema()
		piece := data[:1<<14]
		return func() error {
			for range len(data) / len(piece) {
				sha256.Sum256(piece)
			}
			return nil
		}
	}
	reading := func(b *testing.B) func() error {
		v := opened(b, t.file(b, "mag", largeSingle).path).At(0)
		return func() error {
			return v.Use(func(data []byte) error { floor.ReadOn(workers, data); return nil })
		}
	}
	for _, c := range []struct {
		name, format string
		m            Model
		limit        float64
		floor        func(b *testing.B) func() error
	}{
		{"mle", "mle", large, 1.15, reading},
		{"tsr", "tsr", largeSingle, 1.15, reading},
		{"tsr/directory", "tsr", large, 1.15, reading},
		{"mobi", "mobi", large, 1.3, reading},
		{"mag", "mag", large, 2.4, reading},
		{"wia", "wia", large, 1.2, hashing},
	} {
		t.most("verify/mapped/"+c.name, c.limit, func(b *testing.B) float64 {
			f := opened(b, t.file(b, c.format, c.m).path)
			for _, v := range f.Tensors() { // the pages of the baseline are resident too
				expect.OK(b, v.Use(func(p []byte) error { floor.Read(p); return nil }))
			}
			return floor.Pairs(b, func() error {
				_, err := f.Verify(context.Background(), &format.VerifyOptions{Workers: workers})
				return err
			}, c.floor(b))
		})
	}
}

// verifyUnmapped measures verifying a file of which the process has mapped no page, on two
// processors, relative to reading it by pread(2) and hashing it on two.
func (t *table) verifyUnmapped() {
	const workers = 2
	for _, c := range []struct {
		format string
		kind   driver.Kind
	}{
		{"mle", driver.CRC32}, {"mag", driver.XXH64},
		{"mobi", driver.Adler32}, {"npz", driver.CRC32},
	} {
		t.most("verify/unmapped/"+c.format, 1.15, func(b *testing.B) float64 {
			path := t.file(b, c.format, large).path
			verifying := func(n int) (took time.Duration, err error) {
				for range n {
					once, err := verifyingOnce(path, workers)
					if err != nil {
						return 0, err
					}
					took += once
				}
				return took, nil
			}
			hashing := func() error { return hashed(path, c.kind, workers) }
			return floor.PairsOf(b, verifying, floor.Timed(hashing)).Ratio
		})
	}
}

// verifyMany measures opening and verifying a directory of 10,000 TSR files, relative to opening,
// reading and closing each.
func (t *table) verifyMany() {
	t.most("verify/tsr/directory10000", 3, func(b *testing.B) float64 {
		f := t.file(b, "tsr", many)
		memory := make([]byte, 4<<10)
		return floor.Pairs(b, func() error { return verifying(f.path, 0) }, func() error {
			for _, path := range f.paths {
				file, err := os.Open(path)
				if err != nil {
					return err
				}
				_, err = file.Read(memory)
				err = errors.Join(err, file.Close())
				if err != nil {
					return err
				}
			}
			return nil
		})
	})
}

// verifyingOnce returns how long it takes to verify a file that was just opened.
func verifyingOnce(path string, workers int) (time.Duration, error) {
	m, err := format.Open(path, nil)
	if err != nil {
		return 0, err
	}
	defer m.Close()
	start := time.Now()
	_, err = m.Verify(context.Background(), &format.VerifyOptions{Workers: workers})
	return time.Since(start), err
}

// verifying opens, verifies and closes a model.
func verifying(path string, workers int) error {
	m, err := format.Open(path, nil)
	if err != nil {
		return err
	}
	defer m.Close()
	_, err = m.Verify(context.Background(), &format.VerifyOptions{Workers: workers})
	return err
}

// hashed reads and hashes a file with that number of goroutines.
func hashed(path string, kind driver.Kind, workers int) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	share := (info.Size() + int64(workers) - 1) / int64(workers)
	return work.Each(context.Background(), workers, workers, func(i int) error {
		sum := checksum.New(kind)
		part := io.NewSectionReader(f, int64(i)*share, min(share, info.Size()-int64(i)*share))
		_, err := io.CopyBuffer(&sum, part, make([]byte, 256<<10))
		return err
	})
}

// load measures Model.Load of all rows of 1 GB, in an order that jumps about, relative to two
// goroutines that read the same bytes into the same memory by pread(2): with the file in the
// system's cache, and on disk.
func (t *table) load() {
	const tensors, rows, columns, workers = 64, 4, 1 << 20, 2
	measured := func(b *testing.B, cold bool) float64 {
		path := filepath.Join(b.TempDir(), "model.mag")
		_, err := Write("mag", path, uniform("layers", tensors, rows, columns), nil)
		expect.OK(b, err)
		m := opened(b, path)
		dst := make([]byte, tensors*rows*columns*4)
		var requests []format.Request
		for k := range tensors * rows {
			k = k * 7919 % (tensors * rows)
			v := m.At(k / rows)
			requests = append(requests, format.Request{Tensor: v.Name(), Slice: []tensor.Range{tensor.At(int64(k % rows))}, Bytes: dst[k*columns*4:][:columns*4]})
		}
		after := func() error { return nil }
		if cold {
			after = func() error { return errors.Join(m.Evict(), floor.Evict(path)) }
		}
		if err := after(); err != nil {
			b.Skip(err)
		}
		load := func() error { return m.Load(context.Background(), requests, nil) }
		return floor.PairsOf(b, floor.Then(floor.Timed(load), after), floor.Then(floor.Timed(func() error { return pread(path, workers, dst) }), after)).Ratio
	}
	t.most("load/warm", 1.05, func(b *testing.B) float64 { return measured(b, false) })
	t.most("load/cold", 1.1, func(b *testing.B) float64 { return measured(b, true) })
	for _, name := range []string{"mobi", "mle", "mag"} {
		t.most("load/cold/verified/"+name, 1.1, func(b *testing.B) float64 {
			return t.loadingVerified(b, name)
		})
	}
	for _, kB := range []int64{16, 64, 350} {
		t.most(fmt.Sprintf("load/%dkB", kB), 1.3, func(b *testing.B) float64 {
			return t.loadingTensors(b, kB<<10)
		})
	}
}

// loadingVerified measures Model.Load of all tensors, with their checksums, of a file of 100 MB that
// is on disk.
func (t *table) loadingVerified(b *testing.B, name string) float64 {
	path := t.file(b, name, large).path
	info, err := os.Stat(path)
	expect.OK(b, err)
	dst := make([]byte, info.Size())
	evict := func() error { return floor.Evict(path) }
	if err := evict(); err != nil {
		b.Skip("the cache of this file system cannot be emptied: ", err)
	}
	load := func(n int) (took time.Duration, err error) {
		for range n {
			once, err := loadingOnce(path, dst)
			if err != nil {
				return 0, err
			}
			took += once
		}
		return took, nil
	}
	read := func() error { return pread(path, 2, dst) }
	return floor.PairsOf(b, floor.Then(load, evict), floor.Then(floor.Timed(read), evict)).Ratio
}

// loadingOnce returns how long it takes to load all tensors of a file that was just opened, and that
// is not in the system's cache.
func loadingOnce(path string, dst []byte) (time.Duration, error) {
	m, err := format.Open(path, &format.Options{Check: format.CheckTouch})
	if err != nil {
		return 0, err
	}
	defer m.Close()
	var requests []format.Request
	for _, v := range m.Tensors() {
		requests = append(requests, format.Request{Tensor: v.Name(), Bytes: dst[:v.Size()]})
		dst = dst[v.Size():]
	}
	err = floor.Evict(path)
	if err != nil {
		return 0, err
	}
	start := time.Now()
	err = m.Load(context.Background(), requests, nil)
	return time.Since(start), err
}

// loadingTensors measures Model.Load of 100 MB of tensors of size bytes.
func (t *table) loadingTensors(b *testing.B, size int64) float64 {
	const total = 100 << 20
	path := t.file(b, "mag", uniform(fmt.Sprint("tensors-", size), int(total/size), size/4)).path
	m := opened(b, path)
	dst := make([]byte, total/size*size)
	var requests []format.Request
	for i := range m.Len() {
		to := dst[int64(i)*size:][:size]
		requests = append(requests, format.Request{Tensor: m.At(i).Name(), Bytes: to})
	}
	return floor.Pairs(b,
		func() error { return m.Load(context.Background(), requests, nil) },
		func() error { return pread(path, 2, dst) })
}

// stream measures Model.Stream of 1 GB through two buffers, relative to two goroutines that read the
// file into such buffers by pread(2), with the file in the system's cache.
func (t *table) stream() {
	const tensors, rows, columns, size = 64, 4, 1 << 20, 16 << 20
	t.most("stream", 1.05, func(b *testing.B) float64 {
		path := filepath.Join(b.TempDir(), "model.mag")
		_, err := Write("mag", path, uniform("layers", tensors, rows, columns), nil)
		expect.OK(b, err)
		m := opened(b, path)
		ring := [][]byte{make([]byte, size), make([]byte, size)}
		pass := func(format.Piece) error { return nil }
		return floor.Pairs(b,
			func() error { return m.Stream(context.Background(), nil, ring, pass) },
			func() error { return preadThrough(path, ring) })
	})
}

// preadThrough reads a file into buffers, with a goroutine for each of them.
func preadThrough(path string, buffers [][]byte) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	var next atomic.Int64
	return work.Each(context.Background(), len(buffers), len(buffers), func(i int) error {
		b := buffers[i]
		for {
			end := next.Add(int64(len(b)))
			_, err := f.ReadAt(b, end-int64(len(b)))
			if end >= info.Size() {
				return nil
			}
			if err != nil {
				return err
			}
		}
	})
}

// pread fills dst from a file with that number of goroutines.
func pread(path string, workers int, dst []byte) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	const step = 1 << 20
	return work.Each(context.Background(), (len(dst)+step-1)/step, workers, func(i int) error {
		_, err := f.ReadAt(dst[i*step:min((i+1)*step, len(dst))], int64(i*step))
		return err
	})
}
