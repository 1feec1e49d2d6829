package wire

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/weightmap/weightmap/internal/expect"
)

// recording is a file whose structure is recorded.
type recording struct {
	*bytes.Reader
	recorded []int64 // offset and length of each piece
}

func recorded(b []byte) *recording { return &recording{Reader: bytes.NewReader(b)} }

func (r *recording) ReadAhead(p []byte, off int64) (int, error) { return r.ReadAt(p, off) }

func (r *recording) Record(b []byte, off int64) error {
	r.recorded = append(r.recorded, off, int64(len(b)))
	return nil
}

// TestWindowAnywhere: reads before and after earlier ones return the right bytes.
func TestWindowAnywhere(t *testing.T) {
	data := make([]byte, 300<<10)
	r := rand.New(rand.NewPCG(3, 4))
	for i := range data {
		data[i] = byte(r.Uint32())
	}
	for range 20 {
		w := Open(recorded(data))
		off := 0
		for range 200 {
			if r.IntN(3) == 0 {
				off = r.IntN(len(data) + 1)
			}
			n := r.IntN(min(len(data)-off, 1<<r.IntN(19)) + 1)
			b, err := w.Piece(int64(off), int64(n))
			if err != nil || len(b) < n || !bytes.Equal(b, data[off:off+len(b)]) {
				t.Fatalf("%d bytes at %d: %d, %v", n, off, len(b), err)
			}
			off += r.IntN(n + 1)
		}
		w.Close()
	}
}

// claims is a file that has fewer bytes than it says.
type claims struct{ *recording }

func (claims) Size() int64 { return 1 << 50 }

// TestWindowClaims: what a file does not have is an error, not memory.
func TestWindowClaims(t *testing.T) {
	w := Open(claims{recorded(make([]byte, 5000))})
	defer w.Close()
	if _, err := w.Bytes(0, 1<<40); err == nil {
		t.Error("what the file does not have was read")
	}
	if b, err := w.Bytes(0, 300); err != nil || len(b) != 300 {
		t.Errorf("%d bytes, %v", len(b), err)
	}
	if _, err := w.Bytes(4500, 501); err == nil || errors.Is(err, errors.ErrUnsupported) {
		t.Error("more than there is can be read")
	}
}

// TestWindowRecords: Bytes records what it returns, Piece all that was read, once, Peek nothing.
func TestWindowRecords(t *testing.T) {
	f := recorded(make([]byte, 5000))
	w := Open(f)
	defer w.Close()
	_, err := w.Peek(0, 100)
	_, err1 := w.Bytes(10, 20)
	_, err2 := w.Piece(30, 5)
	_, err3 := w.Piece(35, 5)
	if err := errors.Join(err, err1, err2, err3); err != nil {
		t.Fatal(err)
	}
	expect.Equal(t, []int64{10, 20, 0, leastPiece}, f.recorded)
}

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
			w := Open(f)
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
