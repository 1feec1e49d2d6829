package load

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/source"
	"github.com/weightmap/weightmap/tensor"
)

// unpacked is a file whose tensors, of 1000 bytes each, must be loaded. With streams, checking one does not load it.
func unpacked(loads, streams *int) driver.Parsed {
	p := driver.Parsed{
		Load:      func(int) ([]byte, error) { *loads++; return ramp(1000), nil },
		TensorSum: func(int) driver.Sum { return driver.Sum{Kind: driver.CRC32, Want: uint64(tensor.CRC32(ramp(1000)))} },
	}
	if streams != nil {
		p.Stream = func(_ int, w io.Writer) error {
			*streams++
			_, err := io.Copy(w, bytes.NewReader(ramp(1000)))
			return err
		}
	}
	return p
}

// unpackable lists n tensors that a driver loads.
func unpackable(n int, p driver.Parsed) *toy {
	d := &toy{parsed: p}
	for i := range n {
		d.tensors = append(d.tensors, loaded(u8(string(rune('a'+i)), -1, 1000)))
	}
	return d
}

// TestMaxMemoryOfKept: tensors that are kept count, the one that is too many is
// ErrLimit, and those that are there stay.
func TestMaxMemoryOfKept(t *testing.T) {
	var account *driver.Memory
	m := open(t, source.FromBytes(nil), unpackable(4, unpacked(new(int), nil)), func(c *Config) {
		account = driver.NewMemory(2500 + 4<<10)
		c.Options.Memory = account
	})
	index := account.Used()
	must(t, account.Reserve(4<<10-index))
	for i, want := range []error{nil, nil, tensor.ErrLimit, tensor.ErrLimit} {
		for range 2 {
			_, err := m.At(i).Bytes()
			if !errors.Is(err, want) || want != nil && !strings.Contains(err.Error(), "MaxMemory") {
				t.Errorf("tensor %d: %v, want %v", i, err, want)
			}
		}
	}
	if got := account.Used(); got != 2000+4<<10 {
		t.Errorf("%d bytes are counted, want %d", got, 2000+4<<10)
	}
}

// TestEvictKept: Evict forgets decoded tensors, and counts them no more; slices of them stay.
func TestEvictKept(t *testing.T) {
	var account *driver.Memory
	loads := 0
	f := unpacked(&loads, nil)
	m := open(t, source.FromBytes(nil), unpackable(3, f), func(c *Config) {
		account = driver.NewMemory(0)
		c.Options.Memory = account
	})
	index := account.Used()
	for round := range 3 {
		b, err := m.At(round % 2).Bytes()
		must(t, err)
		if s := m.Stats(); s.Kept != 1000 || account.Used() != index+1000 {
			t.Errorf("%d bytes are kept, %d counted", s.Kept, account.Used()-index)
		}
		must(t, m.Evict())
		if s := m.Stats(); s.Kept != 0 || account.Used() != index {
			t.Errorf("after Evict %d bytes are kept, %d counted", s.Kept, account.Used()-index)
		}
		if d := cmp.Diff(ramp(1000), b); d != "" {
			t.Error(d)
		}
	}
	if loads != 3 {
		t.Errorf("%d loads", loads)
	}
}

// TestMaxMemoryOfIndex: an index that takes more than allowed ends opening, whatever
// the driver makes of it.
func TestMaxMemoryOfIndex(t *testing.T) {
	c := config(unpackable(20, unpacked(new(int), nil)), func(c *Config) { c.Options.Memory = driver.NewMemory(1000) })
	err := new(Model).Open(source.FromBytes(nil), c)
	if !errors.Is(err, tensor.ErrLimit) || !strings.Contains(err.Error(), "MaxMemory") {
		t.Errorf("%v, want ErrLimit that names the option", err)
	}
}

// TestVerifyKeepsNothing: verification keeps nothing of what it loads.
func TestVerifyKeepsNothing(t *testing.T) {
	loads := 0
	m := open(t, source.FromBytes(nil), unpackable(3, unpacked(&loads, nil)))
	if _, err := m.Verify(context.Background(), &VerifyOptions{Workers: 1}); err != nil || loads != 3 || m.Stats().Kept != 0 {
		t.Errorf("%v, %d loads, %d bytes are kept", err, loads, m.Stats().Kept)
	}
}

// TestVerifyStreams: verification does not load what it can have piece by piece.
func TestVerifyStreams(t *testing.T) {
	loads, streams := 0, 0
	f := unpacked(&loads, &streams)
	m := open(t, source.FromBytes(nil), unpackable(3, f))
	_, err := m.Verify(context.Background(), &VerifyOptions{Workers: 1})
	if err != nil || loads != 0 || streams != 3 || m.Stats().Kept != 0 {
		t.Errorf("%v, %d loads and %d streams, %d bytes are kept", err, loads, streams, m.Stats().Kept)
	}
}
