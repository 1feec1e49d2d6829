package mag

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/save"
	"github.com/weightmap/weightmap/tensor"
)

var errDisk = errors.New("disk error")

// failing is a target whose operations fail after some.
type failing struct {
	save.Memory
	left   int
	cancel context.CancelFunc // called instead of failing
}

func (f *failing) spend() error {
	f.left--
	if f.left >= 0 {
		return nil
	}
	if f.cancel != nil {
		f.cancel()
		return nil
	}
	return errDisk
}

func (f *failing) WriteAt(p []byte, off int64) (int, error) {
	if err := f.spend(); err != nil {
		return 0, err
	}
	return f.Memory.WriteAt(p, off)
}

func (f *failing) ReadAt(p []byte, off int64) (int, error) {
	if err := f.spend(); err != nil {
		return 0, err
	}
	return f.Memory.ReadAt(p, off)
}

func (f *failing) Truncate(size int64) error {
	if err := f.spend(); err != nil {
		return err
	}
	return f.Memory.Truncate(size)
}

// encodeTied writes tied tensors, last first, so that data is compared, moved
// and cut off.
func encodeTied(ctx context.Context, t save.Target) error {
	const n = 600_000
	data := [][]byte{bytes.Repeat([]byte{1}, n), bytes.Repeat([]byte{1}, n), bytes.Repeat([]byte{2}, n-3), bytes.Repeat([]byte{1}, n)}
	p := &format.Plan{}
	for i, d := range data {
		p.Tensors = append(p.Tensors, tensor.Info{Name: string(rune('a' + i)), DType: tensor.Bool, Shape: tensor.Shape{int64(len(d))}, Size: int64(len(d))})
	}
	e, err := newEncoder(t, p, &driver.WriteOptions{Context: ctx}, &WriteOptions{})
	if err != nil {
		return err
	}
	for _, i := range []int{3, 2, 1, 0} {
		in := save.NewInput(context.Background(), bytes.NewReader(data[i]), int64(len(data[i])), nil)
		if err := e.Tensor(i, in); err != nil {
			return err
		}
	}
	return e.Finish()
}

// TestFailingTarget lets one operation after the other fail: each failure is
// reported, and with enough operations there is none.
func TestFailingTarget(t *testing.T) {
	whole := &failing{left: 1 << 20}
	if err := encodeTied(t.Context(), whole); err != nil {
		t.Fatal(err)
	}
	needed := 1<<20 - whole.left
	for left := range needed {
		if err := encodeTied(t.Context(), &failing{left: left}); !errors.Is(err, errDisk) {
			t.Errorf("after %d of %d operations: %v", left, needed, err)
		}
	}
	enough := &failing{left: needed}
	if err := encodeTied(t.Context(), enough); err != nil || !bytes.Equal(enough.Bytes(), whole.Bytes()) {
		t.Errorf("with all %d operations: %v", needed, err)
	}
}

// TestCancelSharing: comparing and moving data stop when the context is canceled.
func TestCancelSharing(t *testing.T) {
	stopped := 0
	for left := range 30 {
		ctx, cancel := context.WithCancel(t.Context())
		err := encodeTied(ctx, &failing{left: left, cancel: cancel})
		if err != nil && !errors.Is(err, context.Canceled) {
			t.Errorf("canceled after %d operations: %v", left, err)
		}
		if err != nil {
			stopped++
		}
		cancel()
	}
	if stopped < 10 {
		t.Errorf("canceling stopped %d of 30 attempts", stopped)
	}
}
