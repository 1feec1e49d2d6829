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
	m.infos.once.Do(m.makeTable)
	at := &m.infos.blocks[i/blockSize]
	b := at.Load()
	if b == nil {
		b = m.makeBlock(i / blockSize * blockSize)
		if !at.CompareAndSwap(nil, b) {
			b = at.Load() // another goroutine's
		}
	}
	return &b[i%blockSize]
}

func (m *Model) makeTable() {
	m.infos.blocks = make([]atomic.Pointer[infoBlock], (m.index.Len()+blockSize-1)/blockSize)
	m.infos.used.Store(true)
}

// makeBlock describes the tensors from first on.
func (m *Model) makeBlock(first int) *infoBlock {
	b := &infoBlock{}
	for k := range min(m.index.Len()-first, blockSize) {
		m.index.Describe(first+k, &b[k])
	}
	return b
}
