package source

import (
	"bytes"
	"context"
	"errors"
	"testing"
)

// TestLockNothing: what is not mapped cannot be locked.
func TestLockNothing(t *testing.T) {
	for _, tt := range []struct {
		name string
		r    *Region
		want error
	}{
		{"reader", FromReaderAt(bytes.NewReader(ramp(10)), 10), ErrNotMapped},
		{"bytes", FromBytes(ramp(10)), ErrNotMapped},
		{"no bytes", FromBytes(nil), nil},
		{"an empty file", mustOpen(t, temp(t, nil), Options{}), nil},
	} {
		if err := tt.r.Lock(t.Context()); !errors.Is(err, tt.want) || tt.r.Locked() != 0 {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}

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
