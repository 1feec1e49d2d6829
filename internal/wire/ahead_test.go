package wire

import "testing"

// prefetched is a file that notes what is read ahead of it, and what is read that was not.
type prefetched struct {
	*recording
	warm          bool
	soon          []cluster
	bytes, misses int
}

func (f *prefetched) ReadSoon(off, n int64) bool {
	if f.soon = append(f.soon, cluster{off, off + n}); f.warm {
		return false
	}
	f.bytes += int(n)
	return true
}

func (f *prefetched) ReadAhead(p []byte, off int64) (int, error) {
	found := false
	for _, c := range f.soon {
		found = found || c.from <= off && off+int64(len(p)) <= c.to
	}
	if !found {
		f.misses++
	}
	return f.recording.ReadAhead(p, off)
}

func TestAhead(t *testing.T) {
	const layers = 40
	for _, tt := range []struct {
		name   string
		layer  []int64 // sizes of the data of its tensors
		drift  int64   // by which those of each layer are larger than those before
		warm   bool
		misses int // at most
		calls  int
		bytes  int
	}{
		{name: "all of one size", layer: []int64{9 << 10}, misses: 4, calls: 60, bytes: 60 << 10},
		{name: "layers", layer: []int64{20 << 10, 7 << 10, 20 << 10, 20 << 10, 1200, 300, 5 << 10}, misses: 20, calls: 6 * 50, bytes: 6 * 50 << 11},
		{name: "names get longer", layer: []int64{20 << 10, 7 << 10, 20 << 10}, drift: 3, misses: 10, calls: 3 * 50, bytes: 3 * 50 << 10},
		{name: "in the cache", layer: []int64{9 << 10, 20 << 10}, warm: true, misses: 2 * layers, calls: 2 * layers / 8},
		{name: "no two alike", layer: []int64{9 << 10}, drift: 300, misses: layers},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var heads []int64
			size := int64(0)
			for k := range int64(layers) {
				for _, n := range tt.layer {
					heads = append(heads, size)
					size += 40 + n + k*tt.drift
				}
			}
			f := &prefetched{recording: recorded(make([]byte, size)), warm: tt.warm}
			var w Window
			w.Open(f)
			defer w.Close()
			for _, off := range heads {
				if _, err := w.Bytes(off, 40); err != nil {
					t.Fatal(err)
				}
			}
			f.inside(t)
			if f.misses > tt.misses || len(f.soon) > tt.calls || f.bytes > tt.bytes {
				t.Errorf("%d reads wait, %d bytes in %d calls are read ahead; at most %d, %d, %d", f.misses, f.bytes, len(f.soon), tt.misses, tt.bytes, tt.calls)
			}
		})
	}
}

// inside checks that only ranges of the file are read ahead.
func (f *prefetched) inside(t *testing.T) {
	t.Helper()
	for _, c := range f.soon {
		if c.from < 0 || c.from >= c.to || c.to > f.Size() {
			t.Errorf("%d to %d of %d bytes are read ahead", c.from, c.to, f.Size())
		}
	}
}

// TestAheadAnywhere: files whose pieces are anywhere do not lead out of the file.
func TestAheadAnywhere(t *testing.T) {
	const size = 1 << 20
	var a ahead
	f := &prefetched{recording: recorded(make([]byte, size))}
	for _, off := range []int64{
		size - 100, size - 5000, size - 10_000, size - 15_000, size - 20_000,
		20_000, 15_000, 10_000, 5000, 100,
		0, size / 4, size / 2, size / 4 * 3, size - 1,
	} {
		a.read(f, off, off+1)
	}
	f.inside(t)
}
