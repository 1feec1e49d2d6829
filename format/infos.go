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
