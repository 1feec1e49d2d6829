package source

import (
	"bytes"
	"context"
	"errors"
	"os"
	"testing"
)

// TestHoldNothing: what is not mapped cannot be held, and whoever asked for it is told.
func TestHoldNothing(t *testing.T) {
	path := temp(t, ramp(5000))
	for _, tt := range []struct {
		name           string
		r              *Region
		lock, populate error
	}{
		{"reader", FromReaderAt(bytes.NewReader(ramp(10)), 10), ErrNotMapped, ErrNotMapped},
		{"on demand", mustOpen(t, path, Options{OnDemand: true}), ErrNotMapped, ErrNotMapped},
		{"bytes", FromBytes(ramp(10)), ErrNotMapped, nil},
		{"no bytes", FromBytes(nil), nil, nil},
		{"an empty file", mustOpen(t, temp(t, nil), Options{}), nil, nil},
	} {
		if err := tt.r.Hold(t.Context(), &Options{Lock: true}); !errors.Is(err, tt.lock) {
			t.Errorf("Lock, %s: %v", tt.name, err)
		}
		if err := tt.r.Hold(t.Context(), &Options{Populate: true}); !errors.Is(err, tt.populate) {
			t.Errorf("Populate, %s: %v", tt.name, err)
		}
		if err := tt.r.Hold(t.Context(), &Options{}); err != nil || tt.r.Locked() != 0 {
			t.Errorf("nothing, %s: %v", tt.name, err)
		}
	}
}

// TestHoldCanceled: bringing much into memory ends with its context.
func TestHoldCanceled(t *testing.T) {
	if !maps {
		t.Skip("files are not mapped here")
	}
	r := mustOpen(t, temp(t, ramp(5000)), Options{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, o := range []Options{{Lock: true}, {Populate: true}} {
		if err := r.Hold(ctx, &o); !errors.Is(err, context.Canceled) || r.Locked() != 0 {
			t.Error(err)
		}
	}
}

// TestTouch: where the system has no call to bring pages into memory, they are read.
func TestTouch(t *testing.T) {
	if !maps {
		t.Skip("files are not mapped here")
	}
	const size = 1 << 20
	r := mustOpen(t, temp(t, ramp(size)), Options{})
	if err := r.touch(r.mem); err != nil {
		t.Error(err)
	}
	if n := r.Resident(); n != size && n != -1 && os.Getenv("WEIGHTMAP_EMULATED") == "" {
		t.Errorf("%d bytes are resident", n)
	}
}
