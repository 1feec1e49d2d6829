package format

import (
	"container/list"
	"errors"
	"sync"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/source"
)

// cache holds copies of tensors that cannot be viewed in place (compressed, encrypted, misaligned)
// until Evict or Close, and the most recently used ranges of files that are read on demand.
type cache struct {
	most   int64 // bytes of ranges
	memory *driver.Memory

	mu     sync.Mutex
	copies map[span]*copied
	ranges list.List // spans of ranges, latest in front
	held   int64     // bytes of ranges
	bytes  int64     // of all copies
}

// span is a range of a file, or the tensor with index off if r is nil.
type span struct {
	r         *source.Region
	off, size int64
}

// copied is a copy, or a read in flight; others that want the same bytes wait for it.
type copied struct {
	done    chan struct{}
	data    []byte
	err     error
	counted int64         // bytes reserved in the memory of the model
	keep    bool          // in the cache
	element *list.Element // of a range
}

// errBroken is the error for waiters if the read panicked.
var errBroken = errors.New("another goroutine was reading the same bytes and panicked")

// get returns a copy, which load makes unless there is one. Concurrent calls for the same bytes
// share one call of load.
func (c *cache) get(at span, load func(e *copied) error) ([]byte, error) {
	c.mu.Lock()
	e, ok := c.copies[at]
	if ok {
		if e.element != nil {
			c.ranges.MoveToFront(e.element)
		}
		c.mu.Unlock()
		<-e.done
		return e.data, e.err
	}
	if c.copies == nil {
		c.copies = make(map[span]*copied)
	}
	e = &copied{done: make(chan struct{}), err: errBroken}
	c.copies[at] = e
	c.mu.Unlock()
	defer c.loaded(at, e)
	e.err = load(e)
	return e.data, e.err
}

// loaded completes a read and wakes those waiting for it. It removes the least recently used
// ranges.
func (c *cache) loaded(at span, e *copied) {
	c.mu.Lock()
	defer c.mu.Unlock()
	defer close(e.done)
	c.bytes += int64(len(e.data))
	if e.err != nil || !e.keep {
		c.remove(at, e)
		return
	}
	if at.r == nil {
		return
	}
	e.element = c.ranges.PushFront(at)
	for c.held += at.size; c.held > c.most; {
		last := c.ranges.Back().Value.(span)
		c.remove(last, c.copies[last])
	}
}

func (c *cache) remove(at span, e *copied) {
	delete(c.copies, at)
	c.memory.Release(e.counted)
	c.bytes -= int64(len(e.data))
	if e.element != nil {
		c.ranges.Remove(e.element)
		c.held -= at.size
	}
}

// evict empties the cache. Slices that were returned stay valid.
func (c *cache) evict() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for at, e := range c.copies {
		select {
		case <-e.done:
			c.remove(at, e)
		default: // in flight
		}
	}
}

// size returns the number of bytes in the cache.
func (c *cache) size() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.bytes
}

// read returns size bytes at off of r.
func (c *cache) read(r *source.Region, off, size int64) ([]byte, error) {
	if size == 0 || size > c.most {
		return r.Slice(off, size)
	}
	return c.get(span{r, off, size}, func(e *copied) (err error) {
		e.data, err = r.Slice(off, size)
		if err == nil && c.memory.Reserve(size) == nil {
			e.counted = size
			e.keep = true
		}
		return err
	})
}
