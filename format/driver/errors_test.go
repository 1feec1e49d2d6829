package driver_test

import (
	"errors"
	"io/fs"
	"testing"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/tensor"
)

// TestErrorf: the error wraps the sentinel and what %w names, and says where.
func TestErrorf(t *testing.T) {
	err := driver.Errorf("flat", "dims", 12, tensor.ErrCorrupt, "%d of %w", 3, fs.ErrInvalid)
	var e *tensor.Error
	if !errors.Is(err, tensor.ErrCorrupt) || !errors.Is(err, fs.ErrInvalid) || !errors.As(err, &e) {
		t.Fatalf("%v lacks sentinel or cause", err)
	}
	expect.Equal(t, []any{"flat", "dims", int64(12), "corrupt: 3 of invalid argument"}, []any{e.Format, e.Field, e.Offset, e.Err.Error()})
}
