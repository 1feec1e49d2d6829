package pass

import (
	"io"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/weightmap/weightmap/internal/expect"
)

// TestWindow: a window maps pages before it returns them, and removes them behind.
func TestWindow(t *testing.T) {
	const off = 10
	const size = 2*windowSize + 5
	f := &fake{data: make([]byte, off+size), isHeap: true}
	for i := range f.data {
		f.data[i] = byte(i) ^ byte(i>>8)
	}
	f.mapping = &fakeMapping{fake: f, used: make([]bool, size/Small+1)}
	if !HasWindow(f, off, size) {
		t.Error("a mapping has no windows")
	}
	w := OpenWindow(f, off, f.data[off:])
	var sizes []int
	for b := w.Next(windowSize - 1); len(b) > 0; b = w.Next(windowSize - 1) {
		sizes = append(sizes, len(b))
	}
	w.Close()
	expect.Equal(t, []int{windowSize - 1, 1, windowSize - 1, 1, 5}, sizes)
	want := []string{
		"forget 0 at 10", "prefetch 2097152 at 10", "prefetch 1048576 at 2097162", "populate 1048576 at 10",
		"forget 1048576 at 10", "prefetch 1048576 at 3145738", "populate 1048576 at 1048586",
		"forget 1048576 at 1048586", "prefetch 1048576 at 4194314", "populate 5 at 2097162",
		"forget 5 at 2097162", "prefetch 1048576 at 4194319", "populate 0 at 2097167",
		"forget 2097157 at 10",
	}
	if diff := cmp.Diff(want, f.log); diff != "" {
		t.Error(diff)
	}
	expect.OK(t, iotest.TestReader(OpenWindow(f, off, f.data[off:]), f.data[off:]))
}

// TestHasWindow: only a mapping that is not compared with anything has windows.
func TestHasWindow(t *testing.T) {
	for _, tt := range []struct {
		name string
		file *fake
	}{
		{"reader", &fake{}},
		{"memory", &fake{isHeap: true}},
		{"signed", &fake{mapping: &fakeMapping{}}},
		{"another system", &fake{isHeap: true, mapping: &fakeMapping{isLost: true, used: make([]bool, 16)}}},
	} {
		if HasWindow(tt.file, 0, 1<<20) {
			t.Errorf("%s has windows", tt.name)
		}
	}
	f := &fake{data: make([]byte, 2*Small), isHeap: true}
	f.mapping = &fakeMapping{fake: f, used: []bool{true, true}}
	used := OpenWindow(f, 0, f.data)
	expect.Equal(t, 2*Small, len(used.Next(1<<20)))
	used.Close()
	expect.Equal(t, 0, len(f.log)) // its pages stay mapped
	w := OpenWindow(&fake{isHeap: true, mapping: &fakeMapping{fake: &fake{}}}, 0, nil)
	n, err := w.Read(make([]byte, 1))
	if n != 0 || err != io.EOF {
		t.Errorf("an empty window: %d, %v", n, err)
	}
}
