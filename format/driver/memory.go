package driver

import (
	"fmt"
	"math"
	"sync/atomic"

	"github.com/weightmap/weightmap/tensor"
)

// Memory counts the memory of a model. Before parsers and the engine allocate memory
// whose size depends on the file, they reserve it: for copies of the structure, inflated
// data, graphs, windows of codecs, and cached tensors. The methods are safe for concurrent
// use; a nil *Memory has no MaxMemory. Errors wrap ErrLimit and name the option.
type Memory struct {
	most      int64 // Options.MaxMemory, 0 for none
	used      atomic.Int64
	structure atomic.Int64
}

// NewMemory returns a Memory with a limit of most bytes, or without one if most is 0.
func NewMemory(most int64) *Memory { return &Memory{most: most} }

// Limit sets the limit to most bytes, or removes it if most is 0. Call it before the first Reserve.
func (m *Memory) Limit(most int64) { m.most = most }

// Left returns the number of bytes that can still be reserved.
func (m *Memory) Left() int64 {
	if m == nil || m.most == 0 {
		return math.MaxInt64
	}
	return max(0, m.most-m.used.Load())
}

// Reserve reserves n bytes, which the caller is about to allocate. They stay reserved until
// Release, or until the model is closed.
func (m *Memory) Reserve(n int64) error {
	if m == nil {
		return nil
	}
	if used := m.used.Add(n); m.most > 0 && used > m.most {
		m.used.Add(-n)
		return fmt.Errorf("%w: needs %d bytes; Options.MaxMemory allows %d", tensor.ErrLimit, used, m.most)
	}
	return nil
}

// Release releases n reserved bytes.
func (m *Memory) Release(n int64) {
	if m != nil {
		m.used.Add(-n)
	}
}

// Structure counts n bytes of structure. It fails if all files of the model together have more than
// MaxStructure.
func (m *Memory) Structure(n int64) error {
	if m != nil && m.structure.Add(n) > MaxStructure {
		return fmt.Errorf("%w: the structure of all files of the model is larger than %d bytes", tensor.ErrLimit, int64(MaxStructure))
	}
	return nil
}

// Build is Reserve for n bytes that are decoded from a structure, such as a graph, of stored
// bytes in the file. Unless MaxMemory is set, the limit is 16 MiB plus 16 times
// stored; real structures take less than half of that.
func (m *Memory) Build(n, stored int64) error {
	if most := m.Room(stored); (m == nil || m.most == 0) && n > most {
		return fmt.Errorf("%w: %d bytes of memory for %d of the file, at most %d unless Options.MaxMemory is set", tensor.ErrLimit, n, stored, most)
	}
	return m.Reserve(n)
}

// Room returns the maximum n for which Build would succeed.
func (m *Memory) Room(stored int64) int64 {
	if m == nil || m.most == 0 {
		return 16<<20 + 16*stored
	}
	return m.Left()
}
