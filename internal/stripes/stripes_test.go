package stripes

import (
	"sync"
	"sync/atomic"
	"testing"
)

// TestOwnDiffers checks that most goroutines that run concurrently have different stripes.
func TestOwnDiffers(t *testing.T) {
	const n = 16
	var c Counter
	var all sync.WaitGroup
	all.Add(n)
	own := make(chan *atomic.Int64, n)
	for range n {
		go func() {
			own <- c.Own()
			all.Done()
			all.Wait() // no goroutine reuses the stack of one that ended
		}()
	}
	seen := map[*atomic.Int64]bool{}
	for range n {
		seen[<-own] = true
	}
	if len(seen) < n/3 {
		t.Errorf("%d goroutines have %d stripes", n, len(seen))
	}
}

// TestSum checks that the counts of all goroutines add up.
func TestSum(t *testing.T) {
	var c Counter
	var all sync.WaitGroup
	for i := range 16 {
		all.Go(func() {
			c.Own().Add(int64(i))
		})
	}
	all.Wait()
	if n := c.Sum(); n != 120 {
		t.Errorf("sum %d, want 120", n)
	}
}
