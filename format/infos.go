package format

import (
	"sync/atomic"

	"github.com/weightmap/weightmap/tensor"
)

// infoTable has the tensor.Info of tensors, which are made a block at a time, on first use. Views
// point into the blocks, so blocks never move.
type infoTable []atomic.Pointer[infoBlock]

// infoBlock holds the descriptions of consecutive tensors.
type infoBlock [blockSize]tensor.Info

const blockSize = 64

// info returns the description of tensor i, which never moves.
func (m *Model) info(i int) *tensor.Info {
	table := m.infos.Load()
	if table == nil {
		fresh := make(infoTable, (m.index.Len()+blockSize-1)/blockSize)
		m.infos.CompareAndSwap(nil, &fresh)
		table = m.infos.Load()
	}
	at := &(*table)[i/blockSize]
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
