package sink

import (
	"bytes"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// gate is a Target that writes when it is let, and counts.
type gate struct {
	Memory
	open   chan struct{}
	writes atomic.Int32
	fails  int32 // the write that does, from 1
}

func newGate(fails int32) *gate { return &gate{open: make(chan struct{}), fails: fails} }

func (g *gate) WriteAt(p []byte, off int64) (int, error) {
	<-g.open
	if g.writes.Add(1) == g.fails {
		return len(p) / 2, errFull
	}
	return g.Memory.WriteAt(p, off)
}

// base is an offset from which batches have their full size, but for the first.
const base = 2 * batch

// fill writes the first batch to b and so many of full size, and returns how many bytes
// that were.
func fill(b *Buffer, full int) (n int, err error) {
	for n < piece+full*batch {
		k, err := b.WriteAt(pattern(piece/2), base+int64(n))
		if n += k; err != nil {
			return n, err
		}
	}
	return n, nil
}

// TestBehind: writing goes on while the target is slow, up to as many batches as may
// wait, and no longer.
func TestBehind(t *testing.T) {
	g := newGate(0)
	b := NewBuffer(g)
	n, err := fill(b, most)
	if err != nil || g.writes.Load() != 0 {
		t.Fatalf("%d bytes, %d writes, %v", n, g.writes.Load(), err)
	}
	done := make(chan error)
	go func() {
		_, err := b.WriteAt(make([]byte, 3*batch/4), base+int64(n))
		if err == nil {
			_, err = b.WriteAt(make([]byte, 3*batch/4), base+int64(n+3*batch/4))
		}
		done <- err
	}()
	close(g.open)
	must(t, <-done)
	must(t, b.Flush())
	b.Release()
	want := append(make([]byte, base), bytes.Repeat(pattern(piece/2), n/(piece/2))...)
	want = append(want, make([]byte, 3*batch/2)...)
	if !bytes.Equal(g.Bytes(), want) {
		t.Error("the contents differ")
	}
}

// TestBehindIsBounded: a target that does not move holds the writer up.
func TestBehindIsBounded(t *testing.T) {
	g := newGate(0)
	b := NewBuffer(g)
	var taken atomic.Int64
	done := make(chan error)
	go func() {
		var err error
		for off := int64(0); off < 8*batch && err == nil; off += piece {
			_, err = b.WriteAt(pattern(piece), base+off)
			taken.Store(off + piece)
		}
		done <- err
	}()
	g.open <- struct{}{}
	limit := int64(piece + (most+1)*batch)
	if n := taken.Load(); n > limit+piece {
		t.Errorf("%d bytes were taken, want at most %d", n, limit)
	}
	close(g.open)
	must(t, <-done)
	must(t, b.Flush())
	if b.w.taken > most+1 {
		t.Errorf("%d batches", b.w.taken)
	}
	b.Release()
}

// TestBehindStops: nothing is written after a write that failed, whoever asks, and
// Release waits for the one that is under way.
func TestBehindStops(t *testing.T) {
	for _, fails := range []int32{1, 2, 3} {
		g := newGate(fails)
		b := NewBuffer(g)
		if n, err := fill(b, most); err != nil {
			t.Fatalf("after %d bytes: %v", n, err)
		}
		close(g.open)
		_, read := b.ReadAt(make([]byte, 1), 0)
		_, small := b.WriteAt(pattern(1), 0)
		_, direct := b.WriteAt(pattern(large), 0)
		for name, err := range map[string]error{"Flush": b.Flush(), "Truncate": b.Truncate(9), "ReadAt": read, "direct": direct} {
			if !errors.Is(err, errFull) {
				t.Errorf("write %d failed, then %s: %v", fails, name, err)
			}
		}
		if small != nil && !errors.Is(small, errFull) {
			t.Error(small)
		}
		b.Release()
		if diff := cmp.Diff(fails, g.writes.Load()); diff != "" {
			t.Errorf("writes (-want +got):\n%s", diff)
		}
	}
}

// TestReleaseWaits: when Release returns, nobody writes any more, and nothing that was
// held is.
func TestReleaseWaits(t *testing.T) {
	g := newGate(0)
	b := NewBuffer(g)
	if _, err := fill(b, 1); err != nil {
		t.Fatal(err)
	}
	if _, err := b.WriteAt(pattern(10), 1); err != nil { // held
		t.Fatal(err)
	}
	released := make(chan int)
	go func() {
		b.Release()
		released <- len(g.Bytes()) // a race, should somebody still write
	}()
	close(g.open)
	if diff := cmp.Diff(base+piece+batch, <-released); diff != "" {
		t.Errorf("written (-want +got):\n%s", diff)
	}
}

// TestFirstBatches: writing begins with little, for files that are.
func TestFirstBatches(t *testing.T) {
	var m sizes
	b := NewBuffer(&m)
	for off := int64(0); off < 4*batch; off += piece / 2 {
		if _, err := b.WriteAt(pattern(piece/2), off); err != nil {
			t.Fatal(err)
		}
	}
	must(t, b.Flush())
	b.Release()
	want := []int{piece, piece, piece, 3 * piece / 2, 9 * piece / 4, 27 * piece / 8, 81 * piece / 16, 243 * piece / 32, batch}
	if diff := cmp.Diff(want, m.list[:len(want)]); diff != "" {
		t.Errorf("sizes of the first writes (-want +got):\n%s", diff)
	}
}

// sizes notes how much is written at a time.
type sizes struct {
	Memory
	list []int
}

func (s *sizes) WriteAt(p []byte, off int64) (int, error) {
	s.list = append(s.list, len(p))
	return s.Memory.WriteAt(p, off)
}
