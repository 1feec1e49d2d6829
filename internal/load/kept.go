package load

import (
	"container/list"
	"errors"
	"sync"
	"sync/atomic"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/source"
	"github.com/weightmap/weightmap/tensor"
)

// kept caches copies of tensors that cannot be viewed in place (compressed,
// encrypted, misaligned) until Evict or Close.
type kept struct {
	once  sync.Once
	cells []cell // by tensor; allocated on first use
	bytes atomic.Int64

	mu   sync.Mutex
	full []int // cells that have data
}

type cell struct {
	mu   sync.Mutex
	data []byte
}

// get returns a copy of tensor i: the cached one, or the result of decode, which runs under
// the model's guard. With keep it caches the result.
func (k *kept) get(m *Model, i int, keep bool, decode func() ([]byte, error)) ([]byte, error) {
	k.once.Do(func() { k.cells = make([]cell, m.index.Len()) })
	c := &k.cells[i]
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.data != nil {
		return c.data, nil
	}
	size := m.counted(i)
	if err := m.memory.Reserve(size); err != nil {
		return nil, &tensor.Error{Format: m.desc.Name, Path: m.path, Field: tensorField(m.index.Name(i)), Offset: -1, Err: err}
	}
	defer func() {
		if c.data == nil { // not cached, or a reader panicked
			m.memory.Release(size)
		}
	}()
	var data []byte
	err := m.guard(func() (err error) {
		data, err = decode()
		return err
	})
	if err != nil {
		return nil, explain(err, m.desc.Name, m.path)
	}
	if data == nil {
		data = []byte{}
	}
	if keep {
		c.data = data
		k.bytes.Add(int64(len(data)))
		k.mu.Lock()
		k.full = append(k.full, i)
		k.mu.Unlock()
	}
	return data, nil
}

// counted returns the number of bytes that a copy of tensor i adds to the model's memory.
func (m *Model) counted(i int) int64 {
	if m.parsed.Shares != nil && m.parsed.Shares(i) {
		return 0
	}
	return m.index.Size(i)
}

// drop removes all copies when the model is closed. Close has waited for all readers.
func (k *kept) drop() {
	k.mu.Lock()
	clear(k.cells)
	k.mu.Unlock()
	k.bytes.Store(0)
}

// evict removes all copies from the cache. Slices that were returned stay valid.
func (k *kept) evict(m *Model) {
	k.mu.Lock()
	full := k.full
	k.full = nil
	k.mu.Unlock()
	for _, i := range full {
		c := &k.cells[i]
		c.mu.Lock()
		k.bytes.Add(-int64(len(c.data)))
		c.data = nil
		c.mu.Unlock()
		m.memory.Release(m.counted(i))
	}
}

// cache is an LRU cache of at most most bytes for data read from an io.ReaderAt or from
// files that are not mapped.
type cache struct {
	most   int64
	memory *driver.Memory // the cache reserves its memory here; data that does not fit is not cached

	mu    sync.Mutex
	bytes int64
	order list.List // of *cached, latest in front
	known map[span]*list.Element
	begun map[span]*reading
}

// span is a range of a file.
type span struct {
	r         *source.Region
	off, size int64
}

type cached struct {
	at   span
	data []byte
}

// reading is a read in flight. Others that want the same bytes wait for it.
type reading struct {
	done chan struct{}
	data []byte
	err  error
}

// errBroken is the error for waiters if the read panicked.
var errBroken = errors.New("another goroutine was reading the same bytes and panicked")

// get returns size bytes at off of r. If the bytes may be cached, concurrent calls for the same
// bytes share one read.
func (c *cache) get(r *source.Region, off, size int64) ([]byte, error) {
	at := span{r, off, size}
	c.mu.Lock()
	if e, ok := c.known[at]; ok {
		c.order.MoveToFront(e)
		c.mu.Unlock()
		return e.Value.(*cached).data, nil
	}
	if size == 0 || size > c.most {
		c.mu.Unlock()
		return r.Slice(off, size)
	}
	if other, ok := c.begun[at]; ok {
		c.mu.Unlock()
		<-other.done
		return other.data, other.err
	}
	own := &reading{done: make(chan struct{}), err: errBroken}
	if c.begun == nil {
		c.begun = make(map[span]*reading)
	}
	c.begun[at] = own
	c.mu.Unlock()
	defer c.ended(at, own)
	own.data, own.err = r.Slice(off, size)
	if own.err == nil && c.memory.Reserve(size) == nil {
		c.put(at, own.data)
	}
	return own.data, own.err
}

// ended completes a read and wakes those waiting for it.
func (c *cache) ended(at span, own *reading) {
	c.mu.Lock()
	delete(c.begun, at)
	c.mu.Unlock()
	close(own.done)
}

// put adds b and removes the least recently used entries.
func (c *cache) put(at span, b []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.known[at]; ok {
		c.memory.Release(at.size)
		return
	}
	if c.known == nil {
		c.known = make(map[span]*list.Element)
	}
	c.known[at] = c.order.PushFront(&cached{at, b})
	for c.bytes += at.size; c.bytes > c.most; {
		last := c.order.Back()
		old := c.order.Remove(last).(*cached)
		delete(c.known, old.at)
		c.bytes -= old.at.size
		c.memory.Release(old.at.size)
	}
}

// evict empties the cache.
func (c *cache) evict() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.memory.Release(c.bytes)
	c.known, c.bytes = nil, 0
	c.order.Init()
}

// drop empties and disables the cache.
func (c *cache) drop() {
	c.evict()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.most = -1
}

// held returns the number of bytes in the cache.
func (c *cache) held() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.bytes
}
