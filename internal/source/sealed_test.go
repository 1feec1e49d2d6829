package source

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"testing"

	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/tensor"
)

var errForged = errors.New("forged")

// budget is the memory of a model: no limit if most is 0.
type budget struct {
	mu         sync.Mutex
	used, most int64
}

func (a *budget) Reserve(n int64) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.most > 0 && a.used+n > a.most {
		return tensor.ErrLimit
	}
	a.used += n
	return nil
}

func (a *budget) Release(n int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.used -= n
}

func newSealer() *Sealer { return &Sealer{Changed: errForged, Memory: new(budget)} }

// sealedKind is a kind of region whose bytes a test can change.
type sealedKind struct {
	name string
	open func(t *testing.T, data []byte) (r *Region, write func(b []byte, off int64))
}

var sealedKinds = []sealedKind{
	{"mapping", func(t *testing.T, data []byte) (*Region, func([]byte, int64)) {
		path := temp(t, data)
		return mustOpen(t, path, Options{}), func(b []byte, off int64) { overwriteAt(t, path, b, off) }
	}},
	{"parsing", func(t *testing.T, data []byte) (*Region, func([]byte, int64)) {
		path := temp(t, data)
		return mustOpen(t, path, Options{Parse: true}), func(b []byte, off int64) { overwriteAt(t, path, b, off) }
	}},
	{"window", func(t *testing.T, data []byte) (*Region, func([]byte, int64)) {
		path := temp(t, append(append(ramp(5001), data...), 1, 2, 3))
		r := mustOpenFile(t, path, 5001, int64(len(data)), Options{})
		return r, func(b []byte, off int64) { overwriteAt(t, path, b, 5001+off) }
	}},
	{"heap", func(t *testing.T, data []byte) (*Region, func([]byte, int64)) {
		data = bytes.Clone(data)
		return FromBytes(data), func(b []byte, off int64) { copy(data[off:], b) }
	}},
	{"reader", func(t *testing.T, data []byte) (*Region, func([]byte, int64)) {
		data = bytes.Clone(data)
		return FromReaderAt(bytes.NewReader(data), int64(len(data))), func(b []byte, off int64) { copy(data[off:], b) }
	}},
}

// readAll reads a region as the engine does when it authenticates a file.
func readAll(t *testing.T, r *Region) {
	t.Helper()
	_, err := io.Copy(io.Discard, io.NewSectionReader(r, 0, r.Size()))
	expect.OK(t, err)
}

// TestSealed: whatever copies bytes out of a sealed region returns those that were read first, or the error of the
// sealer. Nothing else is left in the memory of the caller.
func TestSealed(t *testing.T) {
	const size = 3*PieceSize + 1000
	data := ramp(size)
	reads := map[string]func(r *Region, off, n int64) ([]byte, error){
		"ReadAt": func(r *Region, off, n int64) ([]byte, error) {
			p := make([]byte, n)
			_, err := r.ReadAt(p, off)
			return p, err
		},
		"ReadAtContext": func(r *Region, off, n int64) ([]byte, error) {
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			p := make([]byte, n)
			_, err := r.ReadAtContext(ctx, p, off)
			return p, err
		},
		"Copy":  (*Region).Copy,
		"Slice": (*Region).Slice,
	}
	places := [][2]int64{{0, size}, {0, 10}, {5, PieceSize}, {PieceSize, PieceSize}, {PieceSize - 3, 2*PieceSize + 9}, {3*PieceSize + 1, 999}, {size - 1, 1}}
	for _, kind := range sealedKinds {
		t.Run(kind.name, func(t *testing.T) {
			for changed := int64(0); changed < size; changed += PieceSize {
				r, write := kind.open(t, data)
				expect.OK(t, newSealer().Seal(r, nil, nil))
				readAll(t, r)
				last := min(changed+PieceSize, size) - 1 // not in the 16 KiB that parsing reads once
				write([]byte{data[last] ^ 1}, last)
				for name, read := range reads {
					for _, at := range places {
						b, err := read(r, at[0], at[1])
						hits := at[0] < changed+PieceSize && changed < at[0]+at[1]
						whole := at[0] <= changed && at[0]+at[1] >= min(changed+PieceSize, size)
						if !hits && err != nil || err != nil && !errors.Is(err, errForged) {
							t.Errorf("%s of %d bytes at %d, changed at %d: %v", name, at[1], at[0], last, err)
						}
						if whole && err == nil { // of a part of a piece, the piece may still be in private memory
							t.Errorf("%s of %d bytes at %d, changed at %d: no error", name, at[1], at[0], last)
						}
						for i := range b {
							if b[i] != data[at[0]+int64(i)] && (err == nil || b[i] != 0) {
								t.Fatalf("%s of %d bytes at %d: byte %d is not the sealed one", name, at[1], at[0], i)
							}
						}
					}
				}
				expect.OK(t, r.Close())
			}
		})
	}
}

// TestSealedEachTime: a piece is compared at each read, also after a read that was fine, and is fine again when the bytes
// are.
func TestSealedEachTime(t *testing.T) {
	data := ramp(2*PieceSize + 5)
	for _, kind := range sealedKinds {
		t.Run(kind.name, func(t *testing.T) {
			r, write := kind.open(t, data)
			defer r.Close()
			expect.OK(t, newSealer().Seal(r, nil, nil))
			p := make([]byte, PieceSize)
			for range 3 {
				_, err := r.ReadAt(p, PieceSize)
				expect.OK(t, err)
				write([]byte{^data[PieceSize]}, PieceSize)
				if n, err := r.ReadAt(p, PieceSize); n != 0 || !errors.Is(err, errForged) {
					t.Errorf("changed: %d, %v", n, err)
				}
				write(data[PieceSize:PieceSize+1], PieceSize)
			}
		})
	}
}

// TestSealedKept: small reads next to each other read a piece once, and what is kept is what was compared.
func TestSealedKept(t *testing.T) {
	data := ramp(2 * PieceSize)
	reads := 0
	r := FromReaderAt(readerFunc(func(p []byte, off int64) (int, error) {
		reads++
		return copy(p, data[off:]), nil
	}), int64(len(data)))
	s := newSealer()
	expect.OK(t, s.Seal(r, nil, nil))
	p := make([]byte, 100)
	for off := int64(0); off < 2*PieceSize-100; off += 100 {
		_, err := r.ReadAt(p, off)
		expect.OK(t, err)
		if !bytes.Equal(p, data[off:][:100]) {
			t.Fatalf("at %d: wrong bytes", off)
		}
	}
	if reads != 2 {
		t.Errorf("%d reads of 2 pieces", reads)
	}
	s.Forget()
	_, err := r.ReadAt(p, 2*PieceSize-100)
	expect.OK(t, err)
	if reads != 3 {
		t.Errorf("%d reads of 3 pieces", reads)
	}
}

// readerFunc is an io.ReaderAt.
type readerFunc func(p []byte, off int64) (int, error)

func (f readerFunc) ReadAt(p []byte, off int64) (int, error) { return f(p, off) }

// TestSealedRanges: a signed range is checked as a whole before any byte of it is used, once; later reads of it read pieces.
func TestSealedRanges(t *testing.T) {
	ends := []int64{10, PieceSize + 500, 3 * PieceSize, 3*PieceSize + 1}
	data := ramp(3*PieceSize + 1)
	for _, kind := range sealedKinds {
		t.Run(kind.name, func(t *testing.T) {
			r, write := kind.open(t, data)
			defer r.Close()
			checked := make([]int, len(ends))
			check := func(i int, b []byte) error {
				from := int64(0)
				if i > 0 {
					from = ends[i-1]
				}
				if !bytes.Equal(b, data[from:ends[i]]) {
					return fmt.Errorf("%w: range %d", errForged, i)
				}
				checked[i]++
				return nil
			}
			expect.OK(t, newSealer().Seal(r, ends, check))
			write([]byte{^data[2*PieceSize]}, 2*PieceSize) // before the first read of range 2
			for _, at := range [][2]int64{{3, 4}, {0, 300}, {PieceSize, 500}, {0, PieceSize + 500}} {
				p := make([]byte, at[1])
				if _, err := r.ReadAt(p, at[0]); err != nil || !bytes.Equal(p, data[at[0]:][:at[1]]) {
					t.Errorf("%d bytes at %d: %v", at[1], at[0], err)
				}
			}
			if got := fmt.Sprint(checked); got != "[1 1 0 0]" {
				t.Error("checked ranges: ", got)
			}
			for _, off := range []int64{PieceSize + 500, 2*PieceSize - 9, PieceSize} {
				p := make([]byte, PieceSize)
				if _, err := r.ReadAt(p, off); !errors.Is(err, errForged) {
					t.Errorf("at %d: %v", off, err)
				}
			}
			if r.InMemory() {
				expect.OK(t, r.Show(0, PieceSize+500))
				if err := r.Show(3*PieceSize-1, 2); !errors.Is(err, errForged) {
					t.Error("shown in place:", err)
				}
			}
			write(data[2*PieceSize:][:1], 2*PieceSize)
			if b, err := r.Copy(0, r.Size()); err != nil || !bytes.Equal(b, data) {
				t.Error("all of it:", err)
			}
			write([]byte{^data[PieceSize]}, PieceSize) // after its range was checked
			if _, err := r.Copy(10, PieceSize); !errors.Is(err, errForged) {
				t.Error("changed after the check:", err)
			}
			if got := fmt.Sprint(checked); got != "[1 1 1 1]" {
				t.Error("checked ranges at the end: ", got)
			}
		})
	}
}

// TestSealedRangeOnce: of many goroutines that need a range, one reads it.
func TestSealedRangeOnce(t *testing.T) {
	data := ramp(4 * PieceSize)
	var mu sync.Mutex
	whole := 0
	r := FromReaderAt(readerFunc(func(p []byte, off int64) (int, error) {
		mu.Lock()
		defer mu.Unlock()
		if len(p) > PieceSize {
			whole++
		}
		return copy(p, data[off:]), nil
	}), int64(len(data)))
	expect.OK(t, newSealer().Seal(r, []int64{int64(len(data))}, func(_ int, b []byte) error {
		if !bytes.Equal(b, data) {
			return errForged
		}
		return nil
	}))
	var group sync.WaitGroup
	for i := range int64(8) {
		group.Go(func() {
			p := make([]byte, 1000)
			if _, err := r.ReadAt(p, i*70_001); err != nil || !bytes.Equal(p, data[i*70_001:][:1000]) {
				t.Error(i, err)
			}
		})
	}
	group.Wait()
	if whole != 1 {
		t.Errorf("%d goroutines read the range", whole)
	}
}

// TestShow: bytes in place are compared when they are shown first, and not again.
func TestShow(t *testing.T) {
	data := ramp(3*PieceSize + 1)
	for _, kind := range sealedKinds {
		t.Run(kind.name, func(t *testing.T) {
			r, write := kind.open(t, data)
			defer r.Close()
			expect.OK(t, r.Show(0, 10)) // nothing is compared without a seal
			expect.OK(t, newSealer().Seal(r, nil, nil))
			readAll(t, r)
			r.Parsed()
			if !r.InMemory() {
				return
			}
			write([]byte{^data[PieceSize]}, PieceSize)
			expect.OK(t, r.Show(0, PieceSize))
			expect.OK(t, r.Show(PieceSize, 0))
			for range 2 {
				if err := r.Show(0, 3*PieceSize); !errors.Is(err, errForged) {
					t.Error("changed before it was shown:", err)
				}
			}
			write(data[PieceSize:][:1], PieceSize)
			expect.OK(t, r.Show(0, r.Size()))
			write([]byte{^data[PieceSize]}, PieceSize)
			expect.OK(t, r.Show(0, r.Size()))
			if _, err := r.Copy(PieceSize, PieceSize); !errors.Is(err, errForged) {
				t.Error("copied after it was shown:", err)
			}
		})
	}
}

// TestSealedCut: a file that is cut short is an error, also where the page of its new end shows zeros.
func TestSealedCut(t *testing.T) {
	data := ramp(2*PieceSize + 100)
	path := temp(t, data)
	r := mustOpen(t, path, Options{})
	expect.OK(t, newSealer().Seal(r, nil, nil))
	readAll(t, r)
	if !r.Mapped() {
		t.Skip("files are not mapped here")
	}
	expect.OK(t, os.Truncate(path, PieceSize+10))
	for _, off := range []int64{PieceSize, 2 * PieceSize} {
		if _, err := r.ReadAt(make([]byte, min(PieceSize, r.Size()-off)), off); !errors.Is(err, tensor.ErrTruncated) {
			t.Errorf("at %d: %v", off, err)
		}
		if err := r.Show(off, 10); !errors.Is(err, tensor.ErrTruncated) {
			t.Errorf("shown at %d: %v", off, err)
		}
	}
	expect.OK(t, os.Truncate(path, PieceSize-10))
	if _, err := r.Copy(0, PieceSize); !errors.Is(err, errForged) {
		t.Error("zeros of the last page:", err)
	}
}

// TestSealMemory: the hashes and the pieces that are kept count, and a limit without room for pieces is no error.
func TestSealMemory(t *testing.T) {
	data := ramp(40 * PieceSize)
	for _, tt := range []struct {
		name       string
		most, want int64
		err        error
	}{
		{"no limit", 0, 40*8 + 2*4 + 8*PieceSize, nil},
		{"room for the hashes", 1000, 40*8 + 2*4, nil},
		{"room for nothing", 300, 0, tensor.ErrLimit},
	} {
		t.Run(tt.name, func(t *testing.T) {
			memory := &budget{most: tt.most}
			r := FromBytes(data)
			err := (&Sealer{Changed: errForged, Memory: memory}).Seal(r, nil, nil)
			if !errors.Is(err, tt.err) {
				t.Fatal(err)
			}
			p := make([]byte, 10)
			for off := int64(0); off < r.Size(); off += PieceSize {
				if _, err := r.ReadAt(p, off+5); err != nil || !bytes.Equal(p, data[off+5:][:10]) {
					t.Error(off, err)
				}
			}
			if memory.used != tt.want {
				t.Errorf("%d bytes are counted, want %d", memory.used, tt.want)
			}
		})
	}
}

// TestSealReopened: a file that is opened again for bulk reads is compared, too.
func TestSealReopened(t *testing.T) {
	data := ramp(2 * PieceSize)
	path := temp(t, data)
	r := mustOpen(t, path, Options{})
	expect.OK(t, newSealer().Seal(r, nil, nil))
	readAll(t, r)
	again, err := r.Reopen()
	if errors.Is(err, errors.ErrUnsupported) {
		t.Skip(err)
	}
	expect.OK(t, err)
	defer again.Close()
	overwriteAt(t, path, []byte{^data[7]}, 7)
	if _, err := again.ReadAtContext(t.Context(), make([]byte, PieceSize), 0); !errors.Is(err, errForged) {
		t.Error(err)
	}
}
