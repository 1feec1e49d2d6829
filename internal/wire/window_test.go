package wire

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weightmap/weightmap/tensor"
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
	var w Window
	for range 20 {
		w.Open(recorded(data))
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
	var w Window
	w.Open(claims{recorded(make([]byte, 5000))})
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
	var w Window
	w.Open(f)
	defer w.Close()
	_, err := w.Peek(0, 100)
	_, err1 := w.Bytes(10, 20)
	_, err2 := w.Piece(30, 5)
	_, err3 := w.Piece(35, 5)
	if err := errors.Join(err, err1, err2, err3); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]int64{10, 20, 0, leastPiece}, f.recorded); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
}

// TestInFile names the file in an error that names none.
func TestInFile(t *testing.T) {
	err := InFile(Error("mag", "x", 8, tensor.ErrCorrupt), "a.mag")
	if got := InFile(err, "b.mag").Error(); got != "mag: a.mag: at 0x8: x: corrupt" {
		t.Error(got)
	}
	if got := InFile(tensor.ErrClosed, "a.mag"); got != tensor.ErrClosed {
		t.Error(got)
	}
}
