package sink

import (
	"io"
	"sync"
)

// batch is how much is written at a time. File systems take few large writes in less
// time than many small ones, by up to a third.
const batch = 2 << 20

// most is how many batches wait or are being written while the next is filled.
const most = 2

var batches = sync.Pool{New: func() any { b := make([]byte, batch); return &b }}

// behind writes batches to a target while the next is filled, on a goroutine that is there
// as long as there are some. What it reads is its own memory, so that the data of callers,
// which may lie in a file that is being cut short, are touched on their goroutine only.
type behind struct {
	t    io.WriterAt
	done sync.Cond // a batch was written, or all of them

	mu      sync.Mutex
	queue   []placed
	free    []*[]byte
	taken   int // batches of full size
	began   bool
	running bool
	err     error // the first one: nothing is written after it
}

// placed is bytes and where they belong: the first n of mem.
type placed struct {
	mem *[]byte
	n   int
	off int64
}

func newBehind(t io.WriterAt) *behind {
	w := &behind{t: t}
	w.done.L = &w.mu
	return w
}

// take returns memory for a batch, once there is some. The first one is small, since most
// files are.
func (w *behind) take() *[]byte {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.began {
		w.began = true
		return buffers.Get().(*[]byte)
	}
	for len(w.free) == 0 && w.taken > most {
		w.done.Wait()
	}
	if last := len(w.free) - 1; last >= 0 {
		b := w.free[last]
		w.free = w.free[:last]
		return b
	}
	w.taken++
	return batches.Get().(*[]byte)
}

// give takes memory back.
func (w *behind) give(mem *[]byte) {
	if len(*mem) < batch {
		buffers.Put(mem)
	} else {
		w.free = append(w.free, mem)
	}
}

// put has a batch written. The error is that of an earlier one.
func (w *behind) put(p placed) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.queue = append(w.queue, p)
	if !w.running {
		w.running = true
		go w.run()
	}
	return w.err
}

// run writes what there is.
func (w *behind) run() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for len(w.queue) > 0 {
		p := w.queue[0]
		w.queue = append(w.queue[:0], w.queue[1:]...)
		if w.err == nil {
			w.mu.Unlock()
			err := writeAll(w.t, (*p.mem)[:p.n], p.off)
			w.mu.Lock()
			w.err = err
		}
		w.give(p.mem)
		w.done.Broadcast()
	}
	w.running = false
	w.done.Broadcast()
}

// wait returns when all is written.
func (w *behind) wait() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	for w.running {
		w.done.Wait()
	}
	return w.err
}

// now writes a batch after all others. Its memory stays with the caller.
func (w *behind) now(p placed) error {
	err := w.wait()
	if err == nil {
		err = writeAll(w.t, (*p.mem)[:p.n], p.off)
		w.err = err // nobody else is there
	}
	return err
}

// release waits, and gives up the memory, that of a batch which is not to be written too.
func (w *behind) release(last *[]byte) {
	_ = w.wait()
	if last != nil {
		w.give(last)
	}
	for _, mem := range w.free {
		batches.Put(mem)
	}
	w.free, w.taken, w.began = nil, 0, false
}

// writeAll is WriteAt for those that write less without saying why.
func writeAll(t io.WriterAt, p []byte, off int64) error {
	n, err := t.WriteAt(p, off)
	if err == nil && n < len(p) {
		err = io.ErrShortWrite
	}
	return err
}
