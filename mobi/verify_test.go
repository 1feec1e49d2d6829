package mobi

import (
	"context"
	"crypto/ed25519"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/testhost"
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
	err := verify(t, f, format.WithWorkers(2), format.WithProgress(func(done, total int64, name string) {
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
	if _, err := f.Verify(canceled); !errors.Is(err, context.Canceled) {
		t.Errorf("canceled: %v", err)
	}
	wantError(t, verify(t, f, format.WithTrustedKey(make(ed25519.PublicKey, 32))), format.ErrSignature, "signature")
	wantError(t, verify(t, f, format.WithTensors("9", "none")), format.ErrNotFound, `tensor "none"`)
	if err := verify(t, f, format.WithTensors("2", "2", "9")); err != nil {
		t.Error(err)
	}
	f.Close()
	if err := verify(t, f); !errors.Is(err, format.ErrClosed) {
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
	testhost.NeedMaps(t)
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
	err = verify(t, f)
	wantError(t, err, format.ErrChecksum, "footer")
	var e *format.Error
	if errors.As(err, &e) && e.Path != path {
		t.Errorf("the error does not name the file: %v", err)
	}
}

// TestVerifyFindsAnotherFile: a file that was replaced by another sound one, of the
// same size, is not what the constants were found in.
func TestVerifyFindsAnotherFile(t *testing.T) {
	b := small().bytes()
	for name, change := range map[string]func(*image){
		"shape":    func(m *image) { m.records[1] = recordOf(7, 2, []uint64{1, 3}, []byte{0xFF, 0, 1}) },
		"dtype":    func(m *image) { m.records[0] = recordOf(9, 4, []uint64{2}, f32s(1, -2)) },
		"id":       func(m *image) { m.records[0] = recordOf(8, 0, []uint64{2}, f32s(1, -2)) },
		"order":    func(m *image) { m.records[0], m.records[1] = m.records[1], m.records[0] },
		"flags":    func(m *image) { m.flags ^= 2 },
		"name":     func(m *image) { m.name = "MODÈL" },
		"operator": func(m *image) { m.ops[1] = op(11, []uint32{41, 9}, []uint32{50}) },
		"data":     nil,
	} {
		t.Run(name, func(t *testing.T) {
			src := &shifting{b: b}
			f, err := OpenReaderAt(src, int64(len(b)), nil)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			if change == nil { // other data with a sum of its own is as good
				src.b = with(func(m *image) { m.records[0] = recordOf(9, 0, []uint64{2}, f32s(5, 6)) })
				if err := verify(t, f); err != nil {
					t.Error(err)
				}
				return
			}
			if src.b = with(change); len(src.b) != len(b) {
				t.Fatalf("%d bytes instead of %d", len(src.b), len(b))
			}
			wantError(t, verify(t, f), format.ErrCorrupt, "header")
		})
	}
}

// TestCoverage: what vouches for what.
func TestCoverage(t *testing.T) {
	for _, c := range []struct {
		name     string
		file     []byte
		only     []string
		sections []format.Covered
		tensors  []format.Covered
	}{
		{"Adler-32", packed(), nil,
			[]format.Covered{{Name: "header", By: "crc32"}, {Name: "metadata and operators", By: "adler32 of the file"}},
			[]format.Covered{{Name: "9", By: "adler32 of the file"}, {Name: "7", By: "adler32 of the file"}, {Name: "1", By: "adler32 of the file"}, {Name: "2", By: "adler32 of the file"}}},
		{"CRC-32, header sum not recorded", with(func(m *image) { m.crc, m.noSum = true, true }), nil,
			[]format.Covered{{Name: "header", By: "crc32 of the file"}, {Name: "metadata and operators", By: "crc32 of the file"}},
			[]format.Covered{{Name: "9", By: "crc32 of the file"}, {Name: "7", By: "crc32 of the file"}}},
		{"one constant", packed(), []string{"1"},
			[]format.Covered{{Name: "header", By: "crc32"}, {Name: "metadata and operators", By: "adler32 of the file"}},
			[]format.Covered{{Name: "1", By: "adler32 of the file"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, f := range []*File{openImage(t, c.file), openRemote(t, c.file)} {
				got, err := f.Verify(t.Context(), format.WithTensors(c.only...))
				if err != nil {
					t.Fatal(err)
				}
				if d := cmp.Diff(c.sections, got.Sections()); d != "" {
					t.Errorf("sections (-want +got)\n%s", d)
				}
				if d := cmp.Diff(c.tensors, slices.Collect(got.Tensors())); d != "" {
					t.Errorf("tensors (-want +got)\n%s", d)
				}
				if got.String() != "ok" {
					t.Errorf("String() = %q", got)
				}
			}
		})
	}
}

// TestVerifyMemory: constants that are decompressed to be verified are not kept,
// and their size does not show in what verification allocates.
func TestVerifyMemory(t *testing.T) {
	b := with(func(m *image) {
		m.records = append(m.records, recordOf(1, 0x8002, []uint64{64 << 20}, zipped(make([]byte, 64<<20))))
	})
	for _, f := range []*File{openImage(t, b), openRemote(t, b)} {
		if err := verify(t, f); err != nil {
			t.Fatal(err)
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if err := verify(t, f); err != nil {
			t.Fatal(err)
		}
		runtime.ReadMemStats(&after)
		if n := after.TotalAlloc - before.TotalAlloc; n > 4<<20 {
			t.Errorf("%d bytes are allocated for a constant of 64 MiB", n)
		}
		if n := f.Stats().Kept; n != 0 {
			t.Errorf("%d bytes are kept", n)
		}
	}
}

// TestSumInParts: the footer is the same however many goroutines sum it.
func TestSumInParts(t *testing.T) {
	for _, crc := range []bool{false, true} {
		b := with(func(m *image) {
			data := make([]byte, 9<<20)
			for i := range data {
				data[i] = byte(i * i >> 8)
			}
			m.crc, m.records = crc, append(m.records, recordOf(1, 2, []uint64{9 << 20}, data))
		})
		for _, workers := range []int{1, 2, 5} {
			if err := verify(t, openImage(t, b), format.WithWorkers(workers)); err != nil {
				t.Errorf("CRC-32 %v with %d workers: %v", crc, workers, err)
			}
		}
		b[5<<20] ^= 1
		for _, workers := range []int{1, 2, 5} {
			wantError(t, verify(t, openImage(t, b), format.WithWorkers(workers)), format.ErrChecksum, "footer")
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
	if src.bytes > 4<<10 {
		t.Errorf("opening reads %d bytes", src.bytes)
	}
	if ops, err := f.Operators(); err != nil || len(ops) != 2 {
		t.Errorf("%d operators, %v", len(ops), err)
	}
	v, _ := f.Constant(2)
	if got, err := v.Bytes(); err != nil || !cmp.Equal([]byte{5}, got) {
		t.Errorf("% x, %v", got, err)
	}
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
