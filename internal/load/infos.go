package load

import (
	"sync"
	"sync/atomic"

	"github.com/weightmap/weightmap/tensor"
)

// infoTable makes the tensor.Info of tensors lazily, a block at a time. Views
// point into the blocks, so blocks never move.
type infoTable struct {
	mu     sync.Mutex
	blocks atomic.Pointer[[]atomic.Pointer[infoBlock]]
}

// infoBlock holds the descriptions of consecutive tensors.
type infoBlock [blockSize]tensor.Info

const blockSize = 64

// Info returns the description of tensor i, which never moves.
func (m *Model) Info(i int) *tensor.Info {
	if t := m.infos.blocks.Load(); t != nil {
		if b := (*t)[i/blockSize].Load(); b != nil {
			return &b[i%blockSize]
		}
	}
	return m.makeInfo(i)
}

// makeInfo makes the block of tensor i.
func (m *Model) makeInfo(i int) *tensor.Info {
	m.infos.mu.Lock()
	defer m.infos.mu.Unlock()
	t := m.infos.blocks.Load()
	if t == nil {
		table := make([]atomic.Pointer[infoBlock], (m.index.Len()+blockSize-1)/blockSize)
		t = &table
		m.infos.blocks.Store(t)
	}
	b := (*t)[i/blockSize].Load()
	if b == nil {
		b = &infoBlock{}
		first := i / blockSize * blockSize
		for k := range min(m.index.Len()-first, blockSize) {
			m.index.Describe(first+k, &b[k])
		}
		(*t)[i/blockSize].Store(b)
	}
	return &b[i%blockSize]
}
