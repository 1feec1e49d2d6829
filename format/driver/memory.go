package driver

import (
	"fmt"
	"math"
	"sync/atomic"

	"github.com/weightmap/weightmap/tensor"
)

// Memory is the account of what one model takes. Parsers, Files and the engine
// reserve what grows with a file before they allocate it: copies of the
// structure, what is inflated, graphs while they are built, windows of codecs, tensors
// that are kept. All methods work on nil, which has no limit of the caller's, and
// are safe for concurrent use. Errors wrap ErrLimit and name the option.
type Memory struct {
	most      int64 // Options.MaxMemory, 0 for none
	used      atomic.Int64
	structure atomic.Int64
}

// NewMemory makes the account of a model that may take most bytes, 0 for any number.
func NewMemory(most int64) *Memory { return &Memory{most: most} }

// Limit sets how many bytes the model may take, 0 for any number, before anything is reserved.
func (m *Memory) Limit(most int64) { m.most = most }

// Used returns the bytes that are reserved now.
func (m *Memory) Used() int64 {
	if m == nil {
		return 0
	}
	return m.used.Load()
}

// Left returns how many bytes more MaxMemory allows, for work that ends at a limit.
func (m *Memory) Left() int64 {
	if m == nil || m.most == 0 {
		return math.MaxInt64
	}
	return max(0, m.most-m.used.Load())
}

// Reserve counts n bytes that are about to be allocated, until Release, or for as
// long as the model is open.
func (m *Memory) Reserve(n int64) error {
	if m == nil {
		return nil
	}
	if used := m.used.Add(n); m.most > 0 && used > m.most {
		m.used.Add(-n)
		return fmt.Errorf("%w: %d bytes of memory besides %d, Options.MaxMemory is %d", tensor.ErrLimit, n, used-n, m.most)
	}
	return nil
}

// Release takes back what was reserved.
func (m *Memory) Release(n int64) {
	if m != nil {
		m.used.Add(-n)
	}
}

// Structure counts n bytes of structure, in whichever file of the model: all together are at most
// MaxStructure.
func (m *Memory) Structure(n int64) error {
	if m != nil && m.structure.Add(n) > MaxStructure {
		return fmt.Errorf("%w: the structure of all files of the model is larger than %d bytes", tensor.ErrLimit, int64(MaxStructure))
	}
	return nil
}

// Build is Reserve for n bytes that are made of a structure, such as a graph, which
// takes so many bytes in the file. Unless the caller has set MaxMemory, they may be 16
// MiB and 16 times as many: real structures take less than half of that.
func (m *Memory) Build(n, stored int64) error {
	if most := builtFloor + builtRatio*stored; (m == nil || m.most == 0) && n > most {
		return fmt.Errorf("%w: %d bytes of memory for %d of the file, at most %d unless Options.MaxMemory is set", tensor.ErrLimit, n, stored, most)
	}
	return m.Reserve(n)
}

// Room returns how many bytes Build would reserve at most now.
func (m *Memory) Room(stored int64) int64 {
	if m == nil || m.most == 0 {
		return builtFloor + builtRatio*stored
	}
	return m.Left()
}

const (
	builtFloor = 16 << 20
	builtRatio = 16
)
