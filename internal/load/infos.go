package load

import (
	"sync"
	"sync/atomic"

	"github.com/weightmap/weightmap/tensor"
)

// infoTable makes the tensor.Info of tensors lazily, a block at a time. Views
// point into the blocks, so blocks never move.
type infoTable struct {
	once   sync.Once
	used   atomic.Bool
	blocks []atomic.Pointer[infoBlock]
}

// infoBlock holds the descriptions of consecutive tensors.
type infoBlock [blockSize]tensor.Info

const blockSize = 64

// Info returns the description of tensor i, which never moves.
func (m *Model) Info(i int) *tensor.Info {
	m.infos.once.Do(func() {
		m.infos.blocks = make([]atomic.Pointer[infoBlock], (m.index.Len()+blockSize-1)/blockSize)
		m.infos.used.Store(true)
	})
	at := &m.infos.blocks[i/blockSize]
	b := at.Load()
	if b == nil {
		b = &infoBlock{}
		first := i / blockSize * blockSize
		for k := range min(m.index.Len()-first, blockSize) {
			m.index.Describe(first+k, &b[k])
		}
		if !at.CompareAndSwap(nil, b) {
			b = at.Load() // another goroutine's
		}
	}
	return &b[i%blockSize]
}
