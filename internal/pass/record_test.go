package pass

import (
	"bytes"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// memory counts what is reserved of a limit.
type memory struct{ left int64 }

var errFull = errors.New("no memory is left")

func (m *memory) Reserve(n int64) error {
	m.left -= n
	if m.left < 0 {
		return errFull
	}
	return nil
}

// place is a recorded range.
type place struct {
	file         uint32
	offset, size int64
}

func places(list []Recorded) (all []place) {
	for _, r := range list {
		all = append(all, place{r.File, r.Offset, int64(r.Size)})
	}
	return all
}

// TestRecord: ranges are listed by file and offset, once each, and are cut at multiples of recordStep.
func TestRecord(t *testing.T) {
	data := make([]byte, 3*MB)
	r := Record{Memory: &memory{left: 6 * recordMemory}}
	for _, p := range []place{{2, 5, 10}, {0, MB - 3, MB + 5}, {2, 0, 3}, {2, 5, 10}} {
		if err := r.Add(p.file, data[:p.size], p.offset); err != nil {
			t.Fatal(err)
		}
	}
	r.Seal()
	r.Seal()
	want := []place{{0, MB - 3, 3}, {0, MB, MB}, {0, 2 * MB, 2}, {2, 0, 3}, {2, 5, 10}}
	if d := cmp.Diff(want, places(r.All()), cmp.AllowUnexported(place{})); d != "" {
		t.Error(d)
	}
	for file, want := range [][]place{want[:3], nil, want[3:], nil} {
		if d := cmp.Diff(want, places(r.Of(uint32(file))), cmp.AllowUnexported(place{})); d != "" {
			t.Errorf("file %d: %s", file, d)
		}
	}
	if end := r.End(0); end != 2*MB+2 {
		t.Errorf("file 0 ends at %d", end)
	}
	if end := r.End(1); end != 0 {
		t.Errorf("file 1, of which nothing was read, ends at %d", end)
	}
	if err := r.Add(0, data[:1], 0); err != errFull {
		t.Errorf("beyond the limit of memory: %v", err)
	}
}

// TestRecorded: a pass over a range fails if bytes that were recorded in it, or next to it, have changed, and no others.
func TestRecorded(t *testing.T) {
	const size = 3 * MB
	for _, tt := range []struct {
		name    string
		read    place
		change  int64 // the byte that changes
		isFound bool
	}{
		{"inside", place{0, 0, size}, 150, true},
		{"not recorded", place{0, 0, size}, 500, false},
		{"in a later step", place{0, 0, size}, 2*MB + 7, true},
		{"before the range", place{0, 200, 100}, 199, true},
		{"behind the range", place{0, 50, 30}, 100, true},
		{"far before the range", place{0, 200 + nearby, 100}, 150, false},
		{"far behind the range", place{0, MB, 100}, 2*MB + 7, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := newMapping(size)
			r := Record{Memory: &memory{left: 1000}}
			for _, p := range []place{{0, 100, 100}, {0, 2 * MB, 10}} {
				if err := r.Add(0, f.data[p.offset:][:p.size], p.offset); err != nil {
					t.Fatal(err)
				}
			}
			r.Seal()
			errChanged := errors.New("changed")
			read := func() (got []byte, err error) {
				var p Pass
				defer p.Close()
				at := Range{File: f, Offset: tt.read.offset, Size: tt.read.size}
				err = p.Recorded(at, r.Of(0), func(*Recorded) error { return errChanged }, func(b []byte) error {
					got = append(got, b...)
					return nil
				})
				return got, err
			}
			got, err := read()
			if err != nil || !bytes.Equal(got, f.data[tt.read.offset:][:tt.read.size]) {
				t.Errorf("%d bytes before the change: %v", len(got), err)
			}
			f.data[tt.change] ^= 1
			_, err = read()
			if (err == errChanged) != tt.isFound {
				t.Errorf("after the change: %v", err)
			}
			var p Pass
			defer p.Close()
			found := false
			for i := range r.All() {
				err := p.Compare(f, &r.All()[i], func(*Recorded) error { return errChanged })
				found = found || err == errChanged
			}
			if found != (tt.change != 500) {
				t.Errorf("comparing all of it finds the change: %v", found)
			}
		})
	}
}

// TestRecordOverlaps: ranges are found by any of their bytes, also across a step.
func TestRecordOverlaps(t *testing.T) {
	var memory unlimited
	r := Record{Memory: memory}
	data := make([]byte, recordStep)
	for _, x := range []struct{ off, size int64 }{{10, 90}, {20, 5}, {recordStep - 50, 100}, {3 * recordStep, 1}} {
		if err := r.Add(1, data[:x.size], x.off); err != nil {
			t.Fatal(err)
		}
	}
	r.Seal()
	for _, tt := range []struct {
		name      string
		file      uint32
		from, end int64
		want      bool
	}{
		{"before", 1, 0, 10, false},
		{"the first byte", 1, 0, 11, true},
		{"the last byte, behind a shorter one", 1, 99, 120, true},
		{"behind", 1, 100, recordStep - 50, false},
		{"across a step", 1, recordStep - 1, recordStep + 1, true},
		{"in the next step", 1, recordStep + 49, recordStep + 60, true},
		{"behind that", 1, recordStep + 50, 3 * recordStep, false},
		{"over several steps", 1, recordStep + 50, 3*recordStep + 1, true},
		{"another file", 0, 0, 4 * recordStep, false},
	} {
		if got := r.Overlaps(tt.file, tt.from, tt.end); got != tt.want {
			t.Errorf("%s: %v", tt.name, got)
		}
	}
}

type unlimited struct{}

func (unlimited) Reserve(int64) error { return nil }
