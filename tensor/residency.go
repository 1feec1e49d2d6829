package tensor

import "github.com/weightmap/weightmap/internal/memory"

// Prefetch asks the system to read the tensor's part of a mapping ahead. It returns before that is
// done, and does nothing for tensors that are not in a mapping, and on systems other than Linux and
// Android. ErrClosed after Close.
func (v View) Prefetch() error {
	_, err := v.advise(memory.Prefetch)
	return err
}

// Evict takes the tensor's pages from the process, except those that it shares with other
// tensors. The system's cache keeps them, and the next access maps them again. It does nothing for tensors
// that are not in a mapping or locked, and on systems other than Linux and Android. ErrClosed after Close.
func (v View) Evict() error {
	_, err := v.advise(memory.Evict)
	return err
}

// Lock reads the tensor's pages into physical memory, and keeps them there until the model is closed: its
// accesses never wait for the disk. It does nothing for tensors that are not in a mapping. Beyond what the process may lock
// (RLIMIT_MEMLOCK) it is ErrLimit, and an error on systems that lock nothing. ErrClosed after Close.
func (v View) Lock() error {
	_, err := v.advise(memory.Lock)
	return err
}

// Resident returns how many of the tensor's bytes are in physical memory and mapped in the process,
// in whole pages up to the size of the tensor: all of them on the heap, -1 when the system does not say
// and for tensors that are decoded or read on demand. ErrClosed after Close.
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
	if err := v.enter(); err != nil {
		return 0, err
	}
	r.Owner().Leave()
	if b == nil {
		return -1, nil
	}
	return int64(len(b)), nil
}
