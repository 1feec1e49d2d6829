package mobi

import (
	"context"
	"crypto/ed25519"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weightmap/weightmap/format"
)

// packed is a file with two compressed constants.
func packed() []byte {
	return with(func(m *image) {
		m.records = append(m.records, recordOf(1, 0x8002, []uint64{1000}, zipped(make([]byte, 1000))), recordOf(2, 0x8000, []uint64{500}, zipped(make([]byte, 2000))))
	})
}

func TestVerifyProgress(t *testing.T) {
	b := packed()
	f := openImage(t, b)
	var last, end int64
	names := map[string]bool{}
	err := f.Verify(t.Context(), format.WithWorkers(2), format.WithProgress(func(done, total int64, name string) {
		if done <= last {
			t.Errorf("progress went from %d to %d", last, done)
		}
		last, end = done, total
		names[name] = true
	}))
	if err != nil || last != end || last == 0 {
		t.Errorf("%v, %d of %d done", err, last, end)
	}
	if d := cmp.Diff(map[string]bool{"": true, "1": true, "2": true}, names); d != "" {
		t.Errorf("names (-want +got)\n%s", d)
	}
}

func TestVerifyOptions(t *testing.T) {
	f := openImage(t, packed())
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	if err := f.Verify(canceled); !errors.Is(err, context.Canceled) {
		t.Errorf("canceled: %v", err)
	}
	wantError(t, f.Verify(t.Context(), format.WithTrustedKey(make(ed25519.PublicKey, 32))), format.ErrSignature, "signature")
	wantError(t, f.Verify(t.Context(), format.WithTensors("9", "none")), format.ErrCorrupt, "tensors")
	if err := f.Verify(t.Context(), format.WithTensors("2", "2", "9")); err != nil {
		t.Error(err)
	}
	f.Close()
	if err := f.Verify(t.Context()); !errors.Is(err, format.ErrClosed) {
		t.Errorf("closed: %v", err)
	}
	if _, err := f.Operators(); !errors.Is(err, format.ErrClosed) {
		t.Errorf("Operators of a closed file: %v", err)
	}
	if _, err := f.Graph(); !errors.Is(err, format.ErrClosed) {
		t.Errorf("Graph of a closed file: %v", err)
	}
}

// TestVerifyFindsChanges changes a file after it was opened.
func TestVerifyFindsChanges(t *testing.T) {
	b := packed()
	path := filepath.Join(t.TempDir(), "m.mobi")
	if err := os.WriteFile(path, b, 0o644); err != nil {
		t.Fatal(err)
	}
	f, err := Open(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	file, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if _, err := file.WriteAt([]byte{0x55}, int64(len(b)-5)); err != nil {
		t.Fatal(err)
	}
	err = f.Verify(t.Context())
	wantError(t, err, format.ErrChecksum, "footer")
	var e *format.Error
	if errors.As(err, &e) && e.Path != path {
		t.Errorf("the error does not name the file: %v", err)
	}
}

// TestSumInParts: the footer is the same however many goroutines sum it.
func TestSumInParts(t *testing.T) {
	b := with(func(m *image) { m.records = append(m.records, recordOf(1, 2, []uint64{9 << 20}, make([]byte, 9<<20))) })
	for i := range 9<<20 - 100 {
		b[200+i] = byte(i * i >> 8)
	}
	for _, kind := range []Footer{Adler32, CRC32} {
		want := kind.update(kind.empty(), b[:len(b)-4])
		for _, workers := range []int{1, 2, 5} {
			f, err := OpenBytes(b, &format.Options{Check: format.CheckStructure})
			if err != nil {
				t.Fatal(err)
			}
			got, err := sumRegion(t.Context(), f.Region(), kind, int64(len(b)-4), workers, nil)
			if err != nil || got != want {
				t.Errorf("%v with %d workers: %08x, want %08x, %v", kind, workers, got, want, err)
			}
		}
	}
}

// TestRemoteReads: behind a reader, opening without sums reads the structure
// and no data.
func TestRemoteReads(t *testing.T) {
	b := with(func(m *image) {
		m.records = append(m.records, recordOf(1, 2, []uint64{4 << 20}, make([]byte, 4<<20)), recordOf(2, 2, []uint64{1}, []byte{5}))
	})
	src := &counted{b: b}
	f, err := OpenReaderAt(src, int64(len(b)), &format.Options{Check: format.CheckStructure})
	if err != nil {
		t.Fatal(err)
	}
	if src.bytes > 4*minWindow {
		t.Errorf("opening reads %d bytes", src.bytes)
	}
	if ops, err := f.Operators(); err != nil || len(ops) != 2 {
		t.Errorf("%d operators, %v", len(ops), err)
	}
	v, _ := f.Constant(2)
	if got, err := v.Bytes(); err != nil || !cmp.Equal([]byte{5}, got) {
		t.Errorf("% x, %v", got, err)
	}
	_, err = OpenReaderAt(src, int64(len(b)), &format.Options{MaxHeaderBytes: 100})
	wantError(t, err, format.ErrLimit, "metadata and operator graph")
}

// counted is an io.ReaderAt that counts.
type counted struct {
	b     []byte
	bytes int
}

func (c *counted) ReadAt(p []byte, off int64) (int, error) {
	n := copy(p, c.b[off:])
	c.bytes += n
	return n, nil
}
