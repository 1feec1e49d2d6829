package stripes

import (
	"sync"
	"sync/atomic"
	"testing"
)

// TestOwnDiffers: goroutines that run at the same time have different stripes, most of them.
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
			all.Wait() // nobody gets the stack of one that ended
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

// TestSum: what goroutines count in their stripes is one number.
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
