package load

import (
	"bytes"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/cespare/xxhash/v2"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/source"
	"github.com/weightmap/weightmap/tensor"
)

// goodSum has the right XXH64 of tensors that are 8 bytes of a ramp each, but for
// those that are bad. It counts how often it was asked.
func goodSum(asked *atomic.Int64, bad ...int) driver.Parsed {
	return driver.Parsed{TensorSum: func(i int) driver.Sum {
		asked.Add(1)
		s := driver.Sum{Kind: driver.XXH64, Want: xxhash.Sum64(ramp(64)[8*i:][:8])}
		for _, b := range bad {
			if b == i {
				s.Want++
			}
		}
		return s
	}}
}

func eights() []driver.Tensor {
	return []driver.Tensor{u8("a", 0, 8), u8("b", 8, 8), u8("c", 16, 8)}
}

// TestTouchWhen: what is asked for, and what the format asks for, decides whether
// sums are checked before first use.
func TestTouchWhen(t *testing.T) {
	for _, tt := range []struct {
		check   driver.Check
		onTouch bool
		want    bool
	}{
		{driver.CheckDefault, false, false}, {driver.CheckDefault, true, true},
		{driver.CheckStructure, true, false}, {driver.CheckTouch, false, true},
	} {
		for what, call := range accessors {
			var asked atomic.Int64
			m := open(t, source.FromBytes(ramp(64)), &toy{onTouch: tt.onTouch, tensors: eights(), parsed: goodSum(&asked, 1)}, check(tt.check))
			if asked.Load() != 0 {
				t.Errorf("%+v: opening asks for sums", tt)
			}
			_ = call(m.At(0))
			err := call(m.At(1))
			if tt.want != errors.Is(err, driver.ErrChecksum) && !errors.Is(err, tensor.ErrDType) && !errors.Is(err, tensor.ErrShape) {
				t.Errorf("%+v: %s: %v", tt, what, err)
			}
		}
	}
}

// TestTouchOnce: a tensor is checked once, by one goroutine, and what was found
// stays found.
func TestTouchOnce(t *testing.T) {
	var asked atomic.Int64
	m := open(t, source.FromBytes(ramp(64)), &toy{tensors: eights(), parsed: goodSum(&asked, 2)}, check(driver.CheckTouch))
	var group sync.WaitGroup
	errs := make([]error, 8)
	for g := range errs {
		group.Go(func() {
			for range 5 {
				if err := m.At(0).Use(func([]byte) error { return nil }); err != nil {
					t.Error(err)
				}
				_, errs[g] = tensor.As[uint8](m.At(2))
			}
		})
	}
	group.Wait()
	for _, err := range errs {
		wantError(t, "a bad sum", err, driver.ErrChecksum, `tensor "c"`)
		if err != errs[0] {
			t.Errorf("the error changed: %v", err)
		}
	}
	if n := asked.Load(); n != 2 {
		t.Errorf("%d sums were asked for, want 2", n)
	}
	if n := m.Stats().Verified; n != 2 {
		t.Errorf("%d sums were verified, want 2", n)
	}
	if !m.touch.pending.Load() {
		t.Error("nothing is left to check, says the model")
	}
}

// TestTouchTransient: what a reader could not deliver is tried again.
func TestTouchTransient(t *testing.T) {
	var asked atomic.Int64
	r := &requests{ReaderAt: bytes.NewReader(ramp(64))}
	m := open(t, source.FromReaderAt(r, 64), &toy{tensors: eights(), parsed: goodSum(&asked, 1)}, check(driver.CheckTouch))
	r.broken.Store(true)
	for range 2 {
		_, err := m.At(0).Bytes()
		wantError(t, "a broken reader", err, errMine, "")
	}
	r.broken.Store(false)
	if got := bytesOf(t, m, "a"); got != fmt.Sprint(ramp(8)) {
		t.Error(got)
	}
	_, first := m.At(1).Bytes()
	r.broken.Store(true)
	if _, err := m.At(1).Bytes(); err != first || !errors.Is(err, driver.ErrChecksum) {
		t.Errorf("a lasting error: %v, then %v", first, err)
	}
}

// TestTouchAll: a driver may cover all tensors at once. Its calls do not overlap.
func TestTouchAll(t *testing.T) {
	for _, all := range []bool{true, false} {
		var calls, inside atomic.Int64
		m := open(t, source.FromBytes(ramp(64)), &toy{tensors: eights(), parsed: driver.Parsed{Touch: func(v driver.Verification, i int) (bool, error) {
			if inside.Add(1) != 1 {
				t.Error("calls overlap")
			}
			defer inside.Add(-1)
			calls.Add(1)
			v.Cover(i, "crc32 of the file")
			if _, err := v.Hash(driver.CRC32, 0, 0, 64, "file"); err != nil || !v.All() || !v.Wanted(i) {
				t.Error(err)
			}
			return all, nil
		}}}, check(driver.CheckTouch))
		var group sync.WaitGroup
		for g := range 6 {
			group.Go(func() {
				if _, err := m.At(g % 3).Bytes(); err != nil {
					t.Error(err)
				}
			})
		}
		group.Wait()
		want := int64(3)
		if all {
			want = 1
		}
		if calls.Load() != want || m.touch.pending.Load() {
			t.Errorf("all %v: %d calls, pending %v", all, calls.Load(), m.touch.pending.Load())
		}
	}
}
