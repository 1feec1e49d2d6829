package bench

import (
	"errors"
	"sync"
	"time"

	"github.com/weightmap/weightmap/internal/floor"
)

// together returns a round that runs each function n times in its own goroutine. Its time is the total
// divided by the number of functions.
func together(fs ...func() error) floor.Round {
	return func(n int) (time.Duration, error) {
		var group sync.WaitGroup
		errs := make([]error, len(fs))
		start := time.Now()
		for i, f := range fs {
			group.Go(func() {
				for range n {
					if errs[i] = f(); errs[i] != nil {
						return
					}
				}
			})
		}
		group.Wait()
		return time.Since(start) / time.Duration(len(fs)), errors.Join(errs...)
	}
}
