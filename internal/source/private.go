package source

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/weightmap/weightmap/tensor"
)

// copyTries is how often a file is copied that changes meanwhile.
const copyTries = 8

// ErrChanging is the error of a file that changed during each attempt to copy it.
var ErrChanging = fmt.Errorf("%w: no copy of the file can be made: it changed during each of %d attempts", tensor.ErrCorrupt, copyTries)

// stamp is what changes when a file does: its ID, and the time of the system's own that
// nobody can set back, where there is one.
type stamp struct {
	id        ID
	sec, nsec int64
}

// grain is how far two changes may be apart that leave the same time: two ticks of a slow
// clock, or what file systems have that count seconds.
func (s *stamp) grain() time.Duration {
	if s.nsec == 0 {
		return 2 * time.Second
	}
	return 20 * time.Millisecond
}

// fresh reports whether the file changed so lately that it may change again in the same instant.
func (s *stamp) fresh() bool { return time.Since(time.Unix(s.sec, s.nsec)) < s.grain() }

// twin is a private copy of a file, or of a window of it.
type twin struct {
	file *os.File // without a name; nil for heap
	base int64    // where the window begins in it
	heap []byte
	held bool // the file is memory
}

func (c *twin) close() {
	if c.file != nil {
		c.file.Close()
	}
}

// testHookCopied is called after a copy was made, before it is known to be of one moment.
var testHookCopied func()

// setCopy makes the window a copy of a range of f, all from off when size is toEnd. The
// file was the same before and after copying, or it is copied again.
func (r *Region) setCopy(f *os.File, off, size int64, o *Options) error {
	for range copyTries {
		was, ok, err := o.await(f)
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		n, err := window(off, size, was.id.size)
		if err != nil {
			return err
		}
		c, err := r.twinOf(f, off, n, o)
		if testHookCopied != nil {
			testHookCopied()
		}
		now, lost := stampOf(f)
		if lost == nil && now == was && err == nil {
			r.adopt(c, n, o)
			return nil
		}
		c.close()
		switch {
		case lost != nil:
			return lost
		case now == was:
			return err
		}
		r.release(o)
	}
	return ErrChanging
}

// await waits until the next change of f, the file that the options want, is going to show
// in its stamp, and reports whether there was none meanwhile.
func (o *Options) await(f *os.File) (was stamp, ok bool, err error) {
	if was, err = stampOf(f); err == nil {
		err = o.Same.check(was.id)
	}
	if err != nil || !was.fresh() {
		return was, true, err
	}
	for range 10 {
		if err := o.canceled(); err != nil {
			return was, false, err
		}
		time.Sleep(was.grain() / 10)
	}
	now, err := stampOf(f)
	return was, now == was, err
}

// canceled returns the error of the context that ended.
func (o *Options) canceled() error {
	if o.Context == nil {
		return nil
	}
	return o.Context.Err()
}

// twinOf copies n bytes at off of f: into a file that shares them with f where the file
// system can, into memory that is mapped like a file where the system has such, and else into the heap.
func (r *Region) twinOf(f *os.File, off, n int64, o *Options) (*twin, error) {
	if c, err := clone(f); err == nil {
		return &twin{file: c, base: off}, nil
	}
	if err := r.reserve(n, o); err != nil {
		return &twin{}, err
	}
	if n > probeOver {
		if err := probe(f, off+n); err != nil {
			return &twin{}, err
		}
	}
	if m, err := memoryFile(); err == nil {
		if err = o.fill(m, f, off, n); err == nil {
			seal(m)
		}
		return &twin{file: m, held: true}, err
	}
	b, err := newHeap(n)
	if err == nil {
		err = o.fill(&appender{b[:0]}, f, off, n)
	}
	return &twin{heap: b}, err
}

// adopt makes a copy of n bytes the window.
func (r *Region) adopt(c *twin, n int64, o *Options) {
	r.copied = true
	if c.file == nil || n == 0 {
		c.close()
		r.setHeap(c.heap)
		return
	}
	r.inMemory = c.held
	if size := c.base + n; o.maps(size) {
		if r.mapDescriptor(c.file, c.base, n) == nil {
			c.close()
			return
		}
		o.Space.give(size)
	}
	r.readOn(c.file, c.base, n, o)
}

// fill writes n bytes at off of f to w, and looks at the context now and then.
func (o *Options) fill(w io.Writer, f *os.File, off, n int64) error {
	buf := make([]byte, min(n, fillStep))
	for end := off + n; off < end; {
		if err := o.canceled(); err != nil {
			return err
		}
		b := buf[:min(end-off, fillStep)]
		if err := readFull(f, b, off); err != nil {
			return err
		}
		if _, err := w.Write(b); err != nil {
			return err
		}
		off += int64(len(b))
	}
	return nil
}

// fillStep is how much is copied at a time: it stays in the processor's cache.
const fillStep = 256 << 10

// appender appends to memory that is there.
type appender struct{ b []byte }

func (a *appender) Write(p []byte) (int, error) {
	a.b = append(a.b, p...)
	return len(p), nil
}
