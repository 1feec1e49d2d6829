package mobile

import (
	"sync"

	"github.com/weightmap/weightmap/internal/memory"
)

// Address returns the address of the elements in memory: ByteSize bytes,
// row-major and little-endian, aligned for the dtype. WeightFile, shipped as source for
// Java and Swift, wraps it in a direct ByteBuffer or an UnsafeRawBufferPointer. The memory is
// read-only, must not be freed, and is valid until Close of the model; no garbage collector
// frees it earlier. An app that reads it after Close, or after another program truncated
// the file, crashes or reads other data. A Pin keeps it valid across a Close.
//
// The address is the same every time. For a tensor that is not ZeroCopy the
// first call makes a copy, which is kept until Close. A tensor of no bytes has
// the address 0.
func (t *Tensor) Address() (int64, error) {
	m := t.owner()
	m.mu.Lock()
	defer m.mu.Unlock()
	if at, ok := m.addresses[t.view.Name()]; ok {
		return at, nil
	}
	if err := m.open(); err != nil { // an Unpin may have freed the addresses already
		return 0, err
	}
	b, err := t.view.Bytes()
	if err != nil {
		return 0, err
	}
	if len(b) == 0 {
		return 0, nil
	}
	// The pinner ignores memory of a mapping. A copy must neither be freed nor moved from
	// now on.
	m.pins.Pin(&b[0])
	at := int64(memory.Address(b))
	m.addresses[t.view.Name()] = at
	lent.Store(m, nil)
	return at, nil
}

// Pin keeps the memory of a model in place: addresses stay valid until Unpin, even
// if another thread closes the model meanwhile.
type Pin struct {
	unpin func()
}

// Pin returns a Pin of the model. Until its Unpin, Close frees no memory.
func (m *Model) Pin() (*Pin, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	unpin, err := m.m.Pin()
	if err != nil {
		return nil, err
	}
	m.pinned++
	return &Pin{sync.OnceFunc(func() {
		unpin()
		m.mu.Lock()
		defer m.mu.Unlock()
		m.pinned--
		m.free()
	})}, nil
}

// Unpin ends the Pin. A second call does nothing.
func (p *Pin) Unpin() {
	if p.unpin != nil {
		p.unpin()
	}
}
