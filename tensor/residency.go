package tensor

import "github.com/weightmap/weightmap/internal/memory"

// Prefetch asks the system to start reading the tensor's pages and does not wait. It does nothing
// for tensors that are not in a mapping, nor on systems other than Linux and Android. After Close
// it returns ErrClosed.
func (v View) Prefetch() error {
	_, err := v.advise(memory.Prefetch)
	return err
}

// Evict removes the tensor's pages from the process, except those shared with other tensors. They
// may stay in the system's page cache; the next access maps them again. Evict does nothing for
// tensors that are locked or not in a mapping, nor on systems other than Linux and Android. After
// Close it returns ErrClosed.
func (v View) Evict() error {
	_, err := v.advise(memory.Evict)
	return err
}

// Lock reads the tensor's pages into physical memory and keeps them there until the model is
// closed, so that accesses never wait for the disk. It does nothing for tensors that are not in a
// mapping. It returns ErrLimit if the process may not lock that much memory (RLIMIT_MEMLOCK), an
// error on systems that cannot lock, and ErrClosed after Close.
func (v View) Lock() error {
	_, err := v.advise(memory.Lock)
	return err
}

// Resident returns the number of the tensor's bytes that are in physical memory and mapped in the
// process, counted in whole pages, up to the size of the tensor. A tensor on the heap is all
// resident. The result is -1 if the system does not tell, and for tensors that are decoded or read
// on demand. After Close it returns ErrClosed.
func (v View) Resident() (int64, error) { return v.advise(memory.Resident) }

// advise passes advice to the owner of a mapping.
func (v *View) advise(a memory.Advice) (int64, error) {
	r := v.ref()
	if r.Info() == nil {
		return 0, ErrClosed
	}
	b := r.Data()
	if o, ok := r.Owner().(memory.Advisor); ok {
		n, err := o.Advise(a, b)
		return n, v.explain(err)
	}
	if b == nil {
		return -1, v.refusal(nil)
	}
	return int64(len(b)), v.refusal(nil)
}
