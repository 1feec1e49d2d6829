package cli

import (
	"context"
	"errors"
	"io"
	"os"
	"testing"

	"github.com/weightmap/weightmap/internal/expect"
)

// TestBlockedWrite: a write into a full pipe ends when the context does.
func TestBlockedWrite(t *testing.T) {
	r, w, err := os.Pipe()
	expect.OK(t, err)
	defer r.Close()
	ctx, cancel := context.WithCancel(context.Background())
	written := make(chan error)
	go func() {
		_, err := (&stoppable{ctx, w}).Write(make([]byte, 4<<20)) // more than any pipe holds
		written <- err
	}()
	_, err = io.ReadFull(r, make([]byte, 1))
	expect.OK(t, err)
	cancel()
	err = <-written
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want %v", err, context.Canceled)
	}
}
