package mobile

import (
	"github.com/weightmap/weightmap/internal/memory"
	"github.com/weightmap/weightmap/tensor"
)

// Address returns the address of the elements in memory, ByteSize bytes,
// row-major and little-endian, aligned for the dtype: for a direct ByteBuffer or
// an UnsafeRawPointer, which WeightFile, shipped as source for Java and Swift, makes of
// it. The memory is read-only, must not be freed, and is valid
// until Close of the model; from this call on only Close gives it back, not the
// garbage collector of either side. Nothing stops who reads it after Close, or
// after another program cut the file short: the app dies, or reads other data.
//
// The address is the same every time. For a tensor that is not ZeroCopy the
// first call makes a copy, which is kept until Close. A tensor of no bytes has
// the address 0.
func (t *Tensor) Address() (int64, error) {
	if t.model == nil {
		return 0, errClosed
	}
	return t.model.lend(t.view)
}

// lend gives out the memory of v.
func (m *Model) lend(v tensor.View) (int64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if at, ok := m.addresses[v.Name()]; ok {
		return at, nil
	}
	b, err := v.Bytes()
	if err != nil {
		return 0, err
	}
	if len(b) == 0 {
		return 0, nil
	}
	// The pinner ignores memory of a mapping; a copy must neither be freed nor
	// moved now that its address is known elsewhere.
	m.pins.Pin(&b[0])
	if m.addresses == nil {
		m.addresses = map[string]int64{}
	}
	at := int64(memory.Address(b))
	m.addresses[v.Name()] = at
	lent.Store(m, nil)
	return at, nil
}
