package wia

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/testhost"
	"github.com/weightmap/weightmap/tensor"
)

// use does everything with a file that may have changed since it was opened: data
// may be wrong, but each tensor has its size, and nothing panics.
func use(t *testing.T, f *File) {
	t.Helper()
	for name, v := range f.Tensors() {
		b, err := v.Bytes()
		if err == nil && int64(len(b)) != v.Info().Size {
			t.Fatalf("%s: %d bytes, want %d", name, len(b), v.Info().Size)
		}
		_, _ = tensor.Decode[float32](nil, v)
		_, _ = f.TensorMessage(name)
	}
	_ = verify(f)
	f.Metadata()
	if _, err := f.Graph(); err != nil {
		t.Fatalf("the graph was checked on open: %v", err)
	}
	_ = RewriteTo(io.Discard, f, &WriteOptions{WriteOptions: format.WriteOptions{Spool: format.SpoolMemory}})
}

// TestChangedWhileOpen: a file whose bytes change after it was opened is an error or
// other data, never a panic or a slice of another length. Structure is not read
// again.
func TestChangedWhileOpen(t *testing.T) {
	for name, c := range map[string]container{"small": small(), "odd": odd()} {
		t.Run(name, func(t *testing.T) {
			good := c.bytes()
			want, err := mustOpen(t, good, nil).GraphMessage()
			if err != nil {
				t.Fatal(err)
			}
			for i := 0; i < len(good); i += 1 + len(good)/300 {
				b := bytes.Clone(good)
				f := mustOpen(t, b, nil)
				b[i] ^= 0xff
				use(t, f)
				got, err := f.GraphMessage()
				if d := cmp.Diff(want, got); d != "" || err != nil {
					t.Fatalf("byte %d: the graph changed: %v %s", i, err, d)
				}
				f.Close()
			}
			r := rand.New(rand.NewPCG(1, 2))
			for range 50 {
				b := bytes.Clone(good)
				f := mustOpen(t, b, nil)
				for i := range b {
					b[i] = byte(r.Uint32())
				}
				use(t, f)
				f.Close()
			}
		})
	}
}

// TestOverwrittenFile: so is a mapped file that is overwritten by another model of
// the same size.
func TestOverwrittenFile(t *testing.T) {
	testhost.NeedMaps(t)
	path := filepath.Join(t.TempDir(), "m.wia")
	c := small()
	if err := os.WriteFile(path, c.bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	f, err := Open(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	d := small()
	d.tensor = bytes.Replace(d.tensor, []byte("\x0a\x01w"), []byte("\x0a\x01v"), 1)
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := file.WriteAt(d.bytes(), 0); err != nil {
		t.Fatal(err)
	}
	file.Close()
	if err := verify(f); !errors.Is(err, format.ErrChecksum) {
		t.Errorf("Verify: %v", err)
	}
	if _, err := f.TensorMessage("w"); f.Stats().Mapped > 0 && !errors.Is(err, tensor.ErrCorrupt) {
		t.Errorf("the message of another tensor: %v", err)
	}
	use(t, f)
}

// fickle answers the same bytes for a while, then others.
type fickle struct {
	first, then []byte
	calls       atomic.Int64
	turn        int64
}

func (r *fickle) ReadAt(p []byte, off int64) (int, error) {
	b := r.first
	if r.calls.Add(1) > r.turn {
		b = r.then
	}
	return bytes.NewReader(b).ReadAt(p, off)
}

// TestFickleReader: a reader that answers differently from one call to the next is
// an error, or other data of the right size.
func TestFickleReader(t *testing.T) {
	first := small().bytes()
	random := rand.New(rand.NewPCG(3, 4))
	noise := bytes.Clone(first)
	for i := range noise {
		noise[i] = byte(random.Uint32())
	}
	for what, then := range map[string][]byte{"zeros": make([]byte, len(first)), "noise": noise, "nothing": nil, "half": first[:len(first)/2]} {
		for turn := range 40 {
			f, err := OpenReaderAt(&fickle{first: first, then: then, turn: int64(turn)}, int64(len(first)), nil)
			if err != nil {
				continue
			}
			use(t, f)
			if err := f.Close(); err != nil {
				t.Errorf("%s after %d calls: %v", what, turn, err)
			}
		}
	}
}

// TestZeroFile: the zero File answers errors.
func TestZeroFile(t *testing.T) {
	f := &File{}
	if _, err := f.Tensor("w"); !errors.Is(err, format.ErrClosed) {
		t.Errorf("Tensor: %v", err)
	}
	if err := verify(f); !errors.Is(err, format.ErrClosed) {
		t.Errorf("Verify: %v", err)
	}
	if _, err := f.GraphMessage(); !errors.Is(err, format.ErrClosed) {
		t.Errorf("GraphMessage: %v", err)
	}
	if _, err := f.TensorMessage("w"); !errors.Is(err, format.ErrClosed) {
		t.Errorf("TensorMessage: %v", err)
	}
	if _, err := f.ModelMetadata(); !errors.Is(err, format.ErrClosed) {
		t.Errorf("ModelMetadata: %v", err)
	}
	if err := RewriteTo(io.Discard, f, nil); !errors.Is(err, format.ErrClosed) {
		t.Errorf("RewriteTo: %v", err)
	}
	if _, err := f.Validate(); err != nil && !errors.Is(err, format.ErrClosed) {
		t.Errorf("Validate: %v", err)
	}
	if f.Compression() != None || f.Encrypted() || f.OperatorSets() != nil || f.IRVersion() != 0 || f.Len() != 0 || f.Signature() != nil || f.Metadata() != nil || f.Notes() != nil {
		t.Error("a file of nothing says something")
	}
	if err := f.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
}

// TestHeaderLimit: blocks that are held in memory are bounded wherever the file is.
func TestHeaderLimit(t *testing.T) {
	b := small().bytes()
	for most, ok := range map[int64]bool{10: false, 1 << 10: true} {
		_, inMemory := OpenBytes(b, &format.Options{MaxHeaderBytes: most})
		_, behind := OpenReaderAt(bytes.NewReader(b), int64(len(b)), &format.Options{MaxHeaderBytes: most})
		for what, err := range map[string]error{"in memory": inMemory, "behind a reader": behind} {
			if ok != (err == nil) || !ok && !errors.Is(err, format.ErrLimit) {
				t.Errorf("%s, %d bytes: %v", what, most, err)
			}
		}
	}
}

// TestVerifyFindsEveryChange: Verify finds any byte that changed since the file was
// opened, those of the recorded sums too.
func TestVerifyFindsEveryChange(t *testing.T) {
	good := small().bytes()
	for i := range good {
		b := bytes.Clone(good)
		f := mustOpen(t, b, nil)
		b[i] ^= 1
		if err := verify(f); err == nil {
			t.Errorf("byte %d of %d: no error", i, len(good))
		}
		f.Close()
	}
}
