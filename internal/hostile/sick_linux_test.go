//go:build !weightmap_debug

package hostile

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/weightmap/weightmap/format"
)

// TestNothingLeftOfReaders: whenever the reader of a model fails or panics, who opens it or verifies it learns that,
// and nothing stays open.
func TestNothingLeftOfReaders(t *testing.T) {
	for _, s := range samples(t) {
		if s.open == "" {
			continue
		}
		dir := t.TempDir()
		store(t, dir, s.files[0])
		before := held(t)
		for name, how := range sicknesses {
			for _, check := range []format.Check{format.CheckDefault, format.CheckAll} {
				for left := int64(0); ; left++ {
					when := fmt.Sprintf("%v, check %v, %s after %d reads", s, check, name, left)
					err := recovered(func() error {
						o := s.options()
						o.Trusted, o.Check = s.trust, check
						r := &sick{}
						r.fall(left, how)
						m, err := r.open(s, dir, o)
						if err != nil {
							return err
						}
						defer m.Close()
						_, err = m.Verify(context.Background(), format.WithWorkers(int(1+left%3)))
						return err
					})
					nothingLeft(t, before, when)
					if err == nil {
						break
					}
					if !errors.Is(err, errSick) {
						t.Errorf("%s: %v", when, err)
					}
				}
			}
		}
	}
}
