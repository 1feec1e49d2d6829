package source

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/internal/memory"
	"github.com/weightmap/weightmap/tensor"
)

// temp writes data to a new file and returns its path.
func temp(t testing.TB, data []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "model.bin")
	expect.OK(t, os.WriteFile(path, data, 0o666))
	return path
}

// ramp returns n bytes that differ from page to page.
func ramp(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i*7 + i>>8*13 + i>>16)
	}
	return b
}

// overwriteAt changes a file in place.
func overwriteAt(t *testing.T, path string, data []byte, off int64) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	expect.OK(t, err)
	defer f.Close()
	_, err = f.WriteAt(data, off)
	expect.OK(t, err)
}

func open(path string, o Options) (*Region, error) {
	r := new(Region)
	return r, r.Open(path, o)
}

func mustOpen(t testing.TB, path string, o Options) *Region {
	t.Helper()
	r, err := open(path, o)
	expect.OK(t, err)
	t.Cleanup(func() { r.Close() })
	return r
}

func mustOpenFile(t testing.TB, path string, off, size int64, o Options) *Region {
	t.Helper()
	f, err := os.Open(path)
	expect.OK(t, err)
	r, err := OpenFile(f, off, size, o)
	expect.OK(t, err)
	t.Cleanup(func() { r.Close() })
	// The descriptor is not needed any more.
	expect.OK(t, f.Close())
	return r
}

// every runs f on a region of each kind that shows data.
func every(t *testing.T, data []byte, f func(t *testing.T, r *Region)) {
	t.Run("mapping", func(t *testing.T) { f(t, mustOpen(t, temp(t, data), Options{})) })
	t.Run("window", func(t *testing.T) {
		around := append(append(ramp(5001), data...), 1, 2, 3)
		f(t, mustOpenFile(t, temp(t, around), 5001, int64(len(data)), Options{}))
	})
	t.Run("heap", func(t *testing.T) { f(t, FromBytes(data)) })
	t.Run("reader", func(t *testing.T) { f(t, FromReaderAt(bytes.NewReader(data), int64(len(data)))) })
}

func TestReadAt(t *testing.T) {
	data := ramp(3 << 20)
	end := int64(len(data))
	tests := []struct {
		name    string
		off     int64
		n       int
		wantN   int
		wantErr error
	}{
		{"start", 0, 100, 100, nil},
		{"across pages", 4000, 9000, 9000, nil},
		{"to the end", end - 10, 10, 10, nil},
		{"over the end", end - 10, 20, 10, io.EOF},
		{"at the end", end, 1, 0, io.EOF},
		{"nothing at the end", end, 0, 0, nil},
		{"far", math.MaxInt64, 8, 0, io.EOF},
		{"negative", -1, 8, 0, tensor.ErrCorrupt},
	}
	every(t, data, func(t *testing.T, r *Region) {
		for _, tt := range tests {
			t.Run(tt.name, func(t *testing.T) {
				p := make([]byte, tt.n)
				n, err := r.ReadAt(p, tt.off)
				if n != tt.wantN || !errors.Is(err, tt.wantErr) {
					t.Fatalf("got %d, %v; want %d, %v", n, err, tt.wantN, tt.wantErr)
				}
				if n > 0 && !bytes.Equal(p[:n], data[tt.off:tt.off+int64(n)]) {
					t.Error("wrong bytes")
				}
			})
		}
	})
}

func TestSlice(t *testing.T) {
	data := ramp(3 << 20)
	end := int64(len(data))
	tests := []struct {
		name    string
		off, n  int64
		wantErr error
	}{
		{"all", 0, end, nil},
		{"middle", 1001, 4096, nil},
		{"large", 77, 2 << 20, nil},
		{"empty", 5, 0, nil},
		{"empty at the end", end, 0, nil},
		{"over the end", end - 1, 2, tensor.ErrTruncated},
		{"behind", end + 1, 0, tensor.ErrTruncated},
		{"sum overflows", 8, math.MaxInt64, tensor.ErrTruncated},
		{"offset far", math.MaxInt64, math.MaxInt64, tensor.ErrTruncated},
		{"negative offset", -1, 2, tensor.ErrCorrupt},
		{"negative size", 1, -2, tensor.ErrCorrupt},
	}
	every(t, data, func(t *testing.T, r *Region) {
		for _, tt := range tests {
			t.Run(tt.name, func(t *testing.T) {
				b, err := r.Slice(tt.off, tt.n)
				if !errors.Is(err, tt.wantErr) {
					t.Fatalf("error %v, want %v", err, tt.wantErr)
				}
				if err != nil {
					return
				}
				if int64(len(b)) != tt.n || cap(b) != len(b) || !bytes.Equal(b, data[tt.off:tt.off+tt.n]) {
					t.Error("wrong bytes")
				}
				if !r.InMemory() && memory.Address(b)%64 != 0 {
					t.Error("the buffer is not aligned")
				}
			})
		}
		if r.Size() != end {
			t.Errorf("Size %d, want %d", r.Size(), end)
		}
		if got := r.Bytes(); r.InMemory() != (got != nil) || got != nil && !bytes.Equal(got, data) {
			t.Error("Bytes is not the window")
		}
		expect.OK(t, evict(r))
		if got := r.Bytes(); got != nil && !bytes.Equal(got, data) {
			t.Error("Bytes after Evict is not the window")
		}
		expect.OK(t, prefetch(r, 5000, end-5000))
		expect.Refused(t, tensor.ErrTruncated, "Prefetch beyond")(nil, prefetch(r, 1, end))
	})
}

func TestOpenFileWindow(t *testing.T) {
	const size = 20000
	path := temp(t, ramp(size))
	for _, tt := range []struct {
		name    string
		off, n  int64
		want    int64
		wantErr error
		text    string
	}{
		{"all", 0, -1, size, nil, ""},
		{"rest", 5, -1, size - 5, nil, ""},
		{"page", 4096, 4096, 4096, nil, ""},
		{"odd", 4097, 11, 11, nil, ""},
		{"empty", 4097, 0, 0, nil, ""},
		{"empty rest", size, -1, 0, nil, ""},
		{"over", 1, size, 0, tensor.ErrTruncated, "truncated: 20000 bytes from offset 1, of 20000"},
		{"behind", size + 1, -1, 0, tensor.ErrTruncated, "truncated: offset 20001, of 20000 bytes"},
		{"overflow", size, math.MaxInt64, 0, tensor.ErrTruncated, "truncated: 9223372036854775807 bytes from offset 20000, of 20000"},
		{"far", math.MaxInt64, math.MaxInt64, 0, tensor.ErrTruncated, "truncated: 9223372036854775807 bytes from offset 9223372036854775807, of 20000"},
		{"negative", -1, 5, 0, fs.ErrInvalid, "invalid argument: 5 bytes from offset -1, of 20000"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f, err := os.Open(path)
			expect.OK(t, err)
			defer f.Close()
			_, err = f.Seek(123, io.SeekStart)
			expect.OK(t, err)
			r, err := OpenFile(f, tt.off, tt.n, Options{})
			if !errors.Is(err, tt.wantErr) {
				t.Fatalf("error %v, want %v", err, tt.wantErr)
			}
			if pos, err := f.Seek(0, io.SeekCurrent); pos != 123 || err != nil {
				t.Errorf("the file's offset moved to %d, %v", pos, err)
			}
			if err != nil {
				want := path + ": " + tt.text
				expect.Equal(t, want, err.Error())
				return
			}
			defer r.Close()
			if r.Size() != tt.want || !bytes.Equal(r.Bytes(), ramp(size)[tt.off:tt.off+tt.want]) {
				t.Errorf("size %d, want %d, or other bytes", r.Size(), tt.want)
			}
			if p := r.Path(); p != path {
				t.Errorf("origin %q", p)
			}
		})
	}
}

func TestOpenFileNotRegular(t *testing.T) {
	pr, pw, err := os.Pipe()
	if err != nil {
		t.Skip("no pipes here:", err)
	}
	defer pr.Close()
	defer pw.Close()
	dir, err := os.Open(t.TempDir())
	expect.OK(t, err)
	defer dir.Close()
	null, err := os.Open(os.DevNull)
	expect.OK(t, err)
	defer null.Close()
	for _, f := range []*os.File{pr, dir, null} {
		expect.Refused(t, ErrNotRegular, f.Name())(OpenFile(f, 0, -1, Options{}))
	}
	pr.Close()
	if _, err := OpenFile(pr, 0, -1, Options{}); err == nil || !errors.Is(err, fs.ErrClosed) && runtime.GOOS != "windows" {
		t.Errorf("closed file: %v", err)
	}
}

// liar is a reader of few bytes that counts the requests it gets.
type liar struct {
	bytes.Reader
	requests, largest int
}

func (l *liar) ReadAt(p []byte, off int64) (int, error) {
	l.requests++
	l.largest = max(l.largest, len(p))
	return l.Reader.ReadAt(p, off)
}

func TestReaderWithLyingSize(t *testing.T) {
	l := new(liar)
	l.Reset(ramp(4 << 20))
	r := FromReaderAt(l, 1<<40)
	r.SetOrigin("mag", "s3://m")
	var err error
	n := testing.AllocsPerRun(10, func() { _, err = r.Slice(100, 1<<39) })
	if !errors.Is(err, tensor.ErrTruncated) || l.largest > 1 || n > 10 {
		t.Errorf("error %v, largest request %d, %v allocations", err, l.largest, n)
	}
	want := "mag: s3://m: at 0x64: truncated: the source ends before its size"
	expect.Equal(t, want, err.Error())
	// What is there can be read all the same, in whole or in part.
	b, err := r.Slice(1, 3<<20)
	if err != nil || !bytes.Equal(b, ramp(4 << 20)[1:3<<20+1]) {
		t.Errorf("%d bytes, %v", len(b), err)
	}
	p := make([]byte, 8)
	if n, err := r.ReadAt(p, 4<<20-5); n != 5 || !errors.Is(err, tensor.ErrTruncated) {
		t.Errorf("ReadAt: %d, %v", n, err)
	}
}

// lying is an io.ReaderAt that answers as a test says.
type lying func(p []byte) (int, error)

func (l lying) ReadAt(p []byte, _ int64) (int, error) { return l(p) }

// TestLyingReader: counts that cannot be, and a reader that delivers nothing without an
// error, are errors.
func TestLyingReader(t *testing.T) {
	for _, tt := range []struct {
		name string
		read lying
		want error
	}{
		{"more than asked for", func(p []byte) (int, error) { return len(p) + 1, nil }, tensor.ErrCorrupt},
		{"very much more", func([]byte) (int, error) { return math.MaxInt, io.EOF }, tensor.ErrCorrupt},
		{"negative", func([]byte) (int, error) { return -1, nil }, tensor.ErrCorrupt},
		{"most negative", func([]byte) (int, error) { return math.MinInt, io.EOF }, tensor.ErrCorrupt},
		{"nothing", func([]byte) (int, error) { return 0, nil }, io.ErrNoProgress},
		{"nothing is too short", func([]byte) (int, error) { return 0, nil }, tensor.ErrTruncated},
		{"less", func(p []byte) (int, error) { return len(p) - 1, nil }, tensor.ErrTruncated},
		{"end", func([]byte) (int, error) { return 0, io.EOF }, tensor.ErrTruncated},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := FromReaderAt(tt.read, 4<<20)
			for _, n := range []int64{16, 3 << 20} {
				if b, err := r.Slice(8, n); b != nil || !errors.Is(err, tt.want) {
					t.Errorf("Slice: %d bytes, %v", len(b), err)
				}
				if k, err := r.ReadAt(make([]byte, n), 8); k < 0 || k >= int(n) || !errors.Is(err, tt.want) {
					t.Errorf("ReadAt: %d, %v", k, err)
				}
				// io.Copy panics when a reader counts wrong.
				expect.Refused(t, tt.want, "a copy")(io.Copy(io.Discard, io.NewSectionReader(r, 0, n)))
			}
		})
	}
}

func evict(r *Region) error { _, err := r.Advise(memory.Evict, 0, r.Size()); return err }

func prefetch(r *Region, off, n int64) error { _, err := r.Advise(memory.Prefetch, off, n); return err }

func residentOf(r *Region) int64 {
	n, err := r.Advise(memory.Resident, 0, r.Size())
	if err != nil {
		return -1
	}
	return n
}

// Object storage charges a round trip for each request.
func TestReaderIsProbedOnce(t *testing.T) {
	l := new(liar)
	l.Reset(ramp(4 << 20))
	r := FromReaderAt(l, 4<<20)
	for i := range 5 {
		_, err := r.Slice(int64(i), 2<<20)
		expect.OK(t, err)
	}
	if l.requests != 6 {
		t.Errorf("%d requests for 5 slices, want 6", l.requests)
	}
}

// maps tells whether x/exp/mmap maps on this system.
var maps = map[string]bool{"linux": true, "android": true, "darwin": true, "ios": true, "windows": true}[runtime.GOOS]

// What another writes to the file shows in the bytes: they are the mapping and
// no copy. An upgrade of x/exp that moves its field fails here.
func TestMappingIsTheFile(t *testing.T) {
	path := temp(t, ramp(10000))
	r := mustOpen(t, path, Options{})
	if r.Mapped() != maps {
		t.Fatalf("mapped: %v, want %v on %s", r.Mapped(), maps, runtime.GOOS)
	}
	if !maps {
		t.Skip("x/exp/mmap does not map on", runtime.GOOS)
	}
	b, err := r.Slice(5000, 8)
	expect.OK(t, err)
	overwriteAt(t, path, []byte("written!"), 5000)
	if string(b) != "written!" {
		t.Errorf("the bytes are %q after the file was written", b)
	}
	if r.debug != debugBuild {
		t.Error("debug mode without Options.Debug")
	}
}

// follower is a reader that knows its size, notes what it is told and asked, and closes the region when it is told to end.
type follower struct {
	io.ReaderAt
	r     *Region
	heard []string
}

func (f *follower) Parsed() { f.heard = append(f.heard, "parsed") }

func (f *follower) Cancel() {
	if f.heard = append(f.heard, "canceled"); len(f.heard) < 10 {
		f.r.Close()
	}
}

func (f *follower) reader(size int64) *Reader {
	return &Reader{ReaderAt: f, Proven: size, ReadContext: f.ReadAtContext, Parsed: f.Parsed, Cancel: f.Cancel}
}

func (f *follower) ReadAt(p []byte, off int64) (int, error) {
	f.heard = append(f.heard, "read")
	return f.ReaderAt.ReadAt(p, off)
}

// TestFollower: a reader that wants to know is told when the structure was read, and once to end what
// it reads when the region is closed, which it may close too; what it says exists is not tried.
func TestFollower(t *testing.T) {
	const size = 3 << 20
	f := &follower{ReaderAt: bytes.NewReader(make([]byte, size))}
	r := FromReader(f.reader(size), size)
	f.r = r
	for _, end := range []int64{1, size} {
		expect.OK(t, r.Prove(end))
	}
	_, err := r.Slice(0, size)
	expect.OK(t, err)
	expect.Refused(t, tensor.ErrTruncated, "Prove beyond the end")(nil, r.Prove(size+1))
	r.Parsed()
	expect.OK(t, errors.Join(r.Close(), r.Close()))
	expect.Refused(t, tensor.ErrClosed, "Prove after Close")(nil, r.Prove(1))
	expect.Equal(t, []string{"read", "parsed", "canceled"}, f.heard)
}

func (f *follower) ReadAtContext(ctx context.Context, p []byte, off int64) (int, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	return f.ReaderAt.ReadAt(p, off)
}

// TestProve: a byte is read once from a reader that does not know how much it has.
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
	expect.OK(t, r.Prove(10))
	expect.Refused(t, tensor.ErrTruncated, "Prove beyond the end of bytes")(nil, r.Prove(11))
}

// TestCheckUnchanged: a file that has another size or time after it was read into private memory has
// changed meanwhile.
func TestCheckUnchanged(t *testing.T) {
	path := temp(t, ramp(10))
	stamp := func() (Stamp, error) {
		info, err := os.Stat(path)
		if err != nil {
			return Stamp{}, err
		}
		return StampOf(info), nil
	}
	before, err := stamp()
	expect.OK(t, err)
	r := &Region{stamp: before}
	expect.OK(t, r.checkUnchanged(stamp))
	expect.OK(t, os.Truncate(path, 9))
	expect.Refused(t, tensor.ErrChanged)(nil, r.checkUnchanged(stamp))
	expect.OK(t, os.Remove(path))
	expect.Refused(t, fs.ErrNotExist)(nil, r.checkUnchanged(stamp))
}
