package bench

import (
	"errors"
	"sync"
	"time"

	"github.com/weightmap/weightmap/internal/floor"
)

// together is a round in which each function runs n times in a goroutine of its
// own, and which takes what one run of one function took on the whole.
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
