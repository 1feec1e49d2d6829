package source

import (
	"bytes"
	"context"
	"errors"
	"io"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weightmap/weightmap/tensor"
)

// follower is a reader that knows its size, notes what it is told and asked, and closes the region when it is told to end.
type follower struct {
	io.ReaderAt
	r     *Region
	size  int64
	heard []string
}

func (f *follower) Proven() int64 { return f.size }
func (f *follower) Parsed()       { f.heard = append(f.heard, "parsed") }

func (f *follower) Cancel() {
	if f.heard = append(f.heard, "canceled"); len(f.heard) < 10 {
		f.r.Close()
	}
}

func (f *follower) ReadAt(p []byte, off int64) (int, error) {
	f.heard = append(f.heard, "read")
	return f.ReaderAt.ReadAt(p, off)
}

// TestFollower: a reader that wants to know is told when the structure was read, and once to end what
// it reads when the region is closed, which it may close too; what it says exists is not tried.
func TestFollower(t *testing.T) {
	const size = 3 << 20
	f := &follower{ReaderAt: bytes.NewReader(make([]byte, size)), size: size}
	r := FromReaderAt(f, size)
	f.r = r
	for _, end := range []int64{1, size} {
		must(t, r.Prove(end))
	}
	if _, err := r.Slice(0, size); err != nil {
		t.Error(err)
	}
	if err := r.Prove(size + 1); !errors.Is(err, tensor.ErrTruncated) {
		t.Errorf("Prove beyond the end: %v", err)
	}
	r.Parsed()
	must(t, errors.Join(r.Close(), r.Close()))
	if err := r.Prove(1); !errors.Is(err, tensor.ErrClosed) {
		t.Errorf("Prove after Close: %v", err)
	}
	if diff := cmp.Diff([]string{"read", "parsed", "canceled"}, f.heard); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

func (f *follower) ReadAtContext(ctx context.Context, p []byte, off int64) (int, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	return f.ReaderAt.ReadAt(p, off)
}

// TestProve: a reader that does not know is asked for a byte, once.
func TestProve(t *testing.T) {
	for _, tt := range []struct {
		name  string
		have  int64 // of 1000
		end   int64
		reads int
		want  error
	}{
		{"all there", 1000, 500, 1, nil},
		{"enough there", 600, 500, 2, nil},
		{"too little there", 400, 500, 2, tensor.ErrTruncated},
	} {
		t.Run(tt.name, func(t *testing.T) {
			reads := new(liar)
			reads.Reset(make([]byte, tt.have))
			r := FromReaderAt(reads, 1000)
			defer r.Close()
			if err := r.Prove(tt.end); !errors.Is(err, tt.want) || reads.requests != tt.reads {
				t.Errorf("%v after %d reads, want %v after %d", err, reads.requests, tt.want, tt.reads)
			}
			if err := r.Prove(tt.end - 1); tt.have == 1000 && (err != nil || reads.requests != tt.reads) { // each request is a round trip
				t.Errorf("%v, probed again", err)
			}
		})
	}
	r := FromBytes(make([]byte, 10))
	defer r.Close()
	must(t, r.Prove(10))
	if err := r.Prove(11); !errors.Is(err, tensor.ErrTruncated) {
		t.Errorf("Prove beyond the end of bytes: %v", err)
	}
}
