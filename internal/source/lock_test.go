package source

import (
	"context"
	"errors"
	"testing"
)

// TestLockCanceled: bringing much into memory ends with its context.
func TestLockCanceled(t *testing.T) {
	if !maps {
		t.Skip("files are not mapped here")
	}
	r := mustOpen(t, temp(t, ramp(5000)), Options{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := r.Lock(ctx); !errors.Is(err, context.Canceled) || r.Locked() != 0 {
		t.Error(err)
	}
}
