package catalog

import (
	"sync"
	"sync/atomic"

	"github.com/weightmap/weightmap/tensor"
)

// infoTable makes the tensor.Info of records when they are asked for, a block
// at a time. Views point into the blocks, so blocks never move.
type infoTable struct {
	mu     sync.Mutex
	blocks atomic.Pointer[[]atomic.Pointer[infoBlock]]
}

// infoBlock holds the infos of so many records. One that was made while tensors
// were still being added is completed later.
type infoBlock struct {
	made  atomic.Int32
	infos [blockSize]tensor.Info
}

const blockSize = 64

// Info returns the description of tensor i. It stays where it is, and must not
// be changed once the model is open.
func (c *Catalog) Info(i int) *tensor.Info {
	if t := c.infos.blocks.Load(); t != nil && i/blockSize < len(*t) {
		if b := (*t)[i/blockSize].Load(); b != nil && i%blockSize < int(b.made.Load()) {
			return &b.infos[i%blockSize]
		}
	}
	return c.makeInfo(i)
}

// makeInfo makes the infos of the block of record i, as many as there are records.
func (c *Catalog) makeInfo(i int) *tensor.Info {
	c.infos.mu.Lock()
	defer c.infos.mu.Unlock()
	b := c.block(i / blockSize)
	first := i / blockSize * blockSize
	n := min(len(c.records)-first, blockSize)
	for k := int(b.made.Load()); k < n; k++ {
		c.describe(&b.infos[k], first+k)
	}
	b.made.Store(int32(n))
	return &b.infos[i%blockSize]
}

// block returns block k, and makes it and the table as needed.
func (c *Catalog) block(k int) *infoBlock {
	t := c.infos.blocks.Load()
	if t == nil || k >= len(*t) {
		wider := make([]atomic.Pointer[infoBlock], (len(c.records)+blockSize-1)/blockSize)
		if t != nil {
			for j := range *t {
				wider[j].Store((*t)[j].Load())
			}
		}
		t = &wider
		c.infos.blocks.Store(t)
	}
	b := (*t)[k].Load()
	if b == nil {
		b = &infoBlock{}
		(*t)[k].Store(b)
	}
	return b
}

// describe fills in the info of record i.
func (c *Catalog) describe(info *tensor.Info, i int) {
	r := &c.records[i]
	*info = tensor.Info{
		Name: c.Name(i), DType: r.dtype, Shape: c.Shape(i),
		Offset: r.offset, Size: r.size, Stored: r.size,
	}
	if i < len(c.extras) {
		e := &c.extras[i]
		info.Stored, info.Compression, info.Quant = e.stored, e.compression, e.quant
	}
}
