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

// kept holds the copies of tensors that cannot be viewed where they are, until
// Evict or Close: decompressed, decrypted, misaligned ones.
type kept struct {
	once  sync.Once
	cells []cell // by tensor; made when the first is needed
	bytes atomic.Int64

	mu   sync.Mutex
	full []int // cells that have data
}

type cell struct {
	mu   sync.Mutex
	data []byte
}

// get returns the copy of tensor i, which decode makes the first time, under the
// model's guard. Only with keep it is there for the next time.
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
		if c.data == nil { // it is not kept, or a reader panicked
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

// counted returns how many bytes a copy of tensor i adds to what the model holds.
func (m *Model) counted(i int) int64 {
	if m.parsed.Shares != nil && m.parsed.Shares(i) {
		return 0
	}
	return m.index.Size(i)
}

// drop is evict for good. Close has waited for all readers.
func (k *kept) drop() {
	k.mu.Lock()
	clear(k.cells)
	k.mu.Unlock()
	k.bytes.Store(0)
}

// evict forgets all copies. Slices of them that were handed out stay valid.
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

// cache keeps what was read from an io.ReaderAt, or from files that are not mapped, the
// latest first, up to most bytes.
type cache struct {
	most   int64
	memory *driver.Memory // that it is counted in: what does not fit there is not kept

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

// reading is what others who want the same bytes wait for.
type reading struct {
	done chan struct{}
	data []byte
	err  error
}

// errBroken is what they get of a reader that panicked.
var errBroken = errors.New("another goroutine was reading the same bytes and panicked")

// get returns size bytes at off of r. Several who want the same bytes at the same time, and
// might keep them, have them read once.
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

// ended lets those go who wait.
func (c *cache) ended(at span, own *reading) {
	c.mu.Lock()
	delete(c.begun, at)
	c.mu.Unlock()
	close(own.done)
}

// put keeps b and lets go of what was not used for longest.
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

// drop empties the cache for good.
func (c *cache) drop() {
	c.evict()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.most = -1
}

// held returns the bytes in the cache.
func (c *cache) held() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.bytes
}
