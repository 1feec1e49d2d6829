package format

import (
	"runtime"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/work"
)

// mostWorkers is the maximum number of verifying goroutines, each of which may have a buffer.
const mostWorkers = 256

// workersOf returns the number of goroutines for an option.
func workersOf(option int) int {
	if option > 0 {
		return min(option, mostWorkers)
	}
	return runtime.GOMAXPROCS(0)
}

// readStep is the number of bytes read from a reader at a time. It is large since the reader may be
// remote, or fetch parts concurrently.
const readStep = 8 << 20

// fetchSize returns readStep, or less if the memory limit requires it: a multiple of work.Step.
func fetchSize(memory *driver.Memory, workers int) int64 {
	left := memory.Left() / int64(2*workers)
	return min(readStep, max(work.Step, left-left%work.Step))
}
