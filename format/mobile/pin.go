package mobile

import "sync"

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
