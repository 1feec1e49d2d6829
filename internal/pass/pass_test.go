package pass

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// fake is a File that records what is done with it.
type fake struct {
	data    []byte
	kind    Kind
	isHeap  bool // Memory returns data
	mapping *fakeMapping
	log     []string
	opened  int // by Reopen and not closed

	cannotReadEach bool
}

// fakeMapping is the Mapping of a fake.
type fakeMapping struct {
	*fake
	used   []bool // by piece of 64 KiB
	isLost bool   // Reopen fails
}

func (f *fake) Memory() []byte {
	if !f.isHeap {
		return nil
	}
	return f.data
}

func (f *fake) Mapping() Mapping {
	if f.mapping == nil {
		return nil
	}
	return f.mapping
}

func (f *fake) Kind() Kind { return f.kind }

func (f *fake) ReadAtContext(_ context.Context, p []byte, off int64) (int, error) {
	f.log = append(f.log, fmt.Sprintf("read %d at %d", len(p), off))
	n := copy(p, f.data[off:])
	if n < len(p) {
		return n, io.ErrUnexpectedEOF
	}
	return n, nil
}

func (m *fakeMapping) Size() int64 { return int64(len(m.data)) }

func (m *fakeMapping) IsUsed(off, size int64) bool {
	for i := off / Small; i*Small < off+size; i++ {
		if !m.used[i] {
			return false
		}
	}
	return true
}

func (m *fakeMapping) MarkUsed(off, size int64) {
	m.log = append(m.log, fmt.Sprintf("use %d at %d", size, off))
}

func (m *fakeMapping) Populate(off, size int64) {
	m.log = append(m.log, fmt.Sprintf("populate %d at %d", size, off))
}

func (m *fakeMapping) Reopen() (Reopened, error) {
	if m.isLost {
		return nil, io.ErrClosedPipe
	}
	m.opened++
	return &reopened{m.fake}, nil
}

// reopened is a fake that is read.
type reopened struct{ of *fake }

func (*reopened) Memory() []byte   { return nil }
func (*reopened) Mapping() Mapping { return nil }
func (r *reopened) Kind() Kind     { return r.of.kind }

func (r *reopened) ReadAtContext(_ context.Context, p []byte, off int64) (int, error) {
	r.of.log = append(r.of.log, fmt.Sprintf("pread %d at %d", len(p), off))
	return copy(p, r.of.data[off:]), nil
}

func (r *reopened) ReadEach(to [][]byte, off int64) (bool, error) {
	if r.of.cannotReadEach {
		return false, nil
	}
	r.of.log = append(r.of.log, fmt.Sprintf("preadv %d buffers at %d", len(to), off))
	for _, b := range to {
		off += int64(copy(b, r.of.data[off:]))
	}
	return true, nil
}

func (r *reopened) Close() error {
	r.of.opened--
	return nil
}

// newMapping returns a mapped file of n bytes, of which pieces that are named by their numbers are used.
func newMapping(n int, used ...int) *fake {
	f := &fake{data: make([]byte, n), isHeap: true}
	for i := range f.data {
		f.data[i] = byte(i) ^ byte(i>>8) ^ byte(i>>16)
	}
	f.mapping = &fakeMapping{fake: f, used: make([]bool, n/Small+1)}
	for _, i := range used {
		f.mapping.used[i] = true
	}
	return f
}

const (
	kB = 1 << 10
	MB = 1 << 20
)

// TestHowBytesAreRead has a row for each way in which a range can be read.
func TestHowBytesAreRead(t *testing.T) {
	all := []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}
	for _, tt := range []struct {
		name   string
		used   []int
		change func(f *fake, p *Pass, r *Range)
		want   []string
	}{
		{"heap", nil, func(f *fake, p *Pass, r *Range) { f.mapping = nil }, nil},
		{"reader", nil, func(f *fake, p *Pass, r *Range) {
			f.mapping, f.isHeap, f.kind.IsReader = nil, false, true
		}, []string{"read 614400 at 100"}},
		{"reader with little memory", nil, func(f *fake, p *Pass, r *Range) {
			f.mapping, f.isHeap, f.kind.IsReader, p.Fetch = nil, false, true, 400*kB
		}, []string{"read 409600 at 100", "read 204800 at 409700"}},
		{"file that is read on demand", nil, func(f *fake, p *Pass, r *Range) {
			f.mapping, f.isHeap = nil, false
		}, []string{"read 262144 at 100", "read 262144 at 262244", "read 90112 at 524388"}},
		{"unused", nil, func(f *fake, p *Pass, r *Range) {},
			[]string{"pread 262144 at 100", "pread 262144 at 262244", "pread 90112 at 524388"}},
		{"used", all, func(f *fake, p *Pass, r *Range) {}, nil},
		{"used in part", all[1:], func(f *fake, p *Pass, r *Range) {},
			[]string{"pread 262144 at 100", "pread 262144 at 262244", "pread 90112 at 524388"}},
		{"small", nil, func(f *fake, p *Pass, r *Range) { r.Size = Small - 1 }, []string{"populate 65535 at 100"}},
		{"used next", nil, func(f *fake, p *Pass, r *Range) { p.IsUse = true },
			[]string{"use 614400 at 100", "populate 262144 at 100", "populate 262144 at 262244", "populate 90112 at 524388"}},
		{"replaced", nil, func(f *fake, p *Pass, r *Range) { f.mapping.isLost = true },
			[]string{"populate 262144 at 100", "populate 262144 at 262244", "populate 90112 at 524388"}},
		{"private", nil, func(f *fake, p *Pass, r *Range) { r.IsPrivate = true },
			[]string{"pread 262144 at 100", "pread 262144 at 262244", "pread 90112 at 524388"}},
		{"private and used", all, func(f *fake, p *Pass, r *Range) { r.IsPrivate = true },
			[]string{"read 262144 at 100", "read 262144 at 262244", "read 90112 at 524388"}},
		{"private heap", nil, func(f *fake, p *Pass, r *Range) { f.mapping, r.IsPrivate = nil, true },
			[]string{"read 262144 at 100", "read 262144 at 262244", "read 90112 at 524388"}},
		{"compared", nil, func(f *fake, p *Pass, r *Range) { f.isHeap, f.kind.Align = false, 256*kB },
			[]string{"pread 262044 at 100", "pread 262144 at 262144", "pread 90212 at 524288"}},
		{"whole", nil, func(f *fake, p *Pass, r *Range) { r.IsWhole = true }, []string{"pread 614400 at 100"}},
		{"units", nil, func(f *fake, p *Pass, r *Range) { r.Unit = 100_000 },
			[]string{"pread 200000 at 100", "pread 200000 at 200100", "pread 200000 at 400100", "pread 14400 at 600100"}},
		{"large units", nil, func(f *fake, p *Pass, r *Range) { r.Unit = 500_000 },
			[]string{"pread 500000 at 100", "pread 114400 at 500100"}},
		{"nothing", nil, func(f *fake, p *Pass, r *Range) { r.Size = 0 }, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := newMapping(MB, tt.used...)
			var p Pass
			r := Range{File: f, Offset: 100, Size: 600 * kB}
			tt.change(f, &p, &r)
			var got []byte
			err := p.Pieces(r, func(b []byte) error {
				got = append(got, b...)
				return nil
			})
			if err != nil || !bytes.Equal(got, f.data[r.Offset:r.end()]) {
				t.Errorf("%d of %d bytes: %v", len(got), r.Size, err)
			}
			if d := cmp.Diff(tt.want, f.log); d != "" {
				t.Error(d)
			}
			p.Close()
			if f.opened != 0 {
				t.Errorf("%d files are open after the pass", f.opened)
			}
		})
	}
}

// TestReadEach: several buffers are filled by one system call where that is possible.
func TestReadEach(t *testing.T) {
	for _, tt := range []struct {
		name   string
		used   []int
		change func(f *fake)
		want   []string
	}{
		{"unused", nil, func(*fake) {}, []string{"preadv 3 buffers at 7"}},
		{"another system", nil, func(f *fake) { f.cannotReadEach = true }, []string{"pread 102410 at 7"}},
		{"used", []int{0, 1}, func(*fake) {}, nil},
		{"replaced", nil, func(f *fake) { f.mapping.isLost = true }, []string{"populate 102410 at 7"}},
		{"heap", nil, func(f *fake) { f.mapping = nil }, nil},
		{"reader", nil, func(f *fake) { f.mapping, f.isHeap = nil, false }, []string{"read 102410 at 7"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := newMapping(MB, tt.used...)
			tt.change(f)
			var p Pass
			defer p.Close()
			to := [][]byte{make([]byte, 50*kB), make([]byte, 10), make([]byte, 50*kB)}
			r := Range{File: f, Offset: 7, Size: 100*kB + 10}
			err := p.ReadEach(to, r)
			if err != nil || !bytes.Equal(bytes.Join(to, nil), f.data[7:][:r.Size]) {
				t.Error("other bytes", err)
			}
			if d := cmp.Diff(tt.want, f.log); d != "" {
				t.Error(d)
			}
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			p.Context = ctx
			if err := p.ReadEach(to, r); !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
		})
	}
}

// TestRead: bytes are read straight into their memory.
func TestRead(t *testing.T) {
	for _, tt := range []struct {
		name string
		size int
		used []int
		want []string
	}{
		{"small", 100, nil, []string{"read 100 at 7"}},
		{"large", 300 * kB, nil, []string{"pread 262144 at 7", "pread 45056 at 262151"}},
		{"used", 300 * kB, []int{0, 1, 2, 3, 4, 5, 6}, []string{"read 262144 at 7", "read 45056 at 262151"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := newMapping(MB, tt.used...)
			var p Pass
			defer p.Close()
			dst := make([]byte, tt.size)
			if err := p.Read(dst, Range{File: f, Offset: 7}, nil); err != nil || !bytes.Equal(dst, f.data[7:][:tt.size]) {
				t.Error("other bytes", err)
			}
			if d := cmp.Diff(tt.want, f.log); d != "" {
				t.Error(d)
			}
			var got []byte
			err := p.Read(dst, Range{File: f, Offset: 9}, func(b []byte) error {
				got = append(got, b...)
				return nil
			})
			if err != nil || !bytes.Equal(got, f.data[9:][:tt.size]) || !bytes.Equal(got, dst) {
				t.Error("other pieces", err)
			}
		})
	}
}

// TestManyRanges: many small ranges are read by pread, too, and each range by what is known of it.
func TestManyRanges(t *testing.T) {
	read := func(f *fake, sizes ...int64) {
		var p Pass
		defer p.Close()
		at := int64(0)
		for _, size := range sizes {
			err := p.Pieces(Range{File: f, Offset: at, Size: size}, func([]byte) error { return nil })
			if err != nil {
				t.Fatal(err)
			}
			at += size
		}
	}
	for _, tt := range []struct {
		name  string
		used  []int
		sizes []int64
		want  []string
	}{
		{"small", nil, []int64{40 * kB, 40 * kB, 10}, []string{"populate 40960 at 0", "pread 40960 at 40960", "pread 10 at 81920"}},
		{"some pieces", []int{0, 2}, []int64{64 * kB, 64 * kB, 64 * kB, 1}, []string{"pread 65536 at 65536", "pread 1 at 196608"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := newMapping(MB, tt.used...)
			read(f, tt.sizes...)
			if d := cmp.Diff(tt.want, f.log); d != "" {
				t.Error(d)
			}
		})
	}
}

// TestManyFiles: a pass keeps a limited number of files open, and reads the others all the same.
func TestManyFiles(t *testing.T) {
	var p Pass
	open := 0
	var files []*fake
	for range mostOpen + 10 {
		f := newMapping(128 * kB)
		files = append(files, f)
		err := p.Pieces(Range{File: f, Size: 128 * kB}, func(b []byte) error {
			if !bytes.Equal(b, f.data) {
				t.Error("other bytes")
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		open += f.opened
	}
	if open != mostOpen {
		t.Errorf("%d files are open, want %d", open, mostOpen)
	}
	p.Close()
	for i, f := range files {
		if f.opened != 0 {
			t.Errorf("file %d is open after the pass", i)
		}
		if d := cmp.Diff([]string{"pread 131072 at 0"}, f.log); d != "" {
			t.Errorf("file %d: %s", i, d)
		}
	}
}

// TestSmallFiles: small files are used where they are, however many they are.
func TestSmallFiles(t *testing.T) {
	var p Pass
	defer p.Close()
	for range 10 {
		f := newMapping(20 * kB)
		err := p.Pieces(Range{File: f, Size: 20 * kB}, func([]byte) error { return nil })
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff([]string{"populate 20480 at 0"}, f.log); d != "" {
			t.Fatal(d)
		}
	}
}

// TestEnds: an error of the function, of the file and of the context ends a pass.
func TestEnds(t *testing.T) {
	broken := errors.New("broken")
	t.Run("function", func(t *testing.T) {
		f := newMapping(MB)
		var p Pass
		defer p.Close()
		err := p.Pieces(Range{File: f, Size: MB}, func([]byte) error { return broken })
		if err != broken || len(f.log) != 1 {
			t.Errorf("%v after %v", err, f.log)
		}
	})
	t.Run("file", func(t *testing.T) {
		f := &fake{data: make([]byte, 300*kB)}
		var p Pass
		calls := 0
		err := p.Pieces(Range{File: f, Size: 400 * kB}, func([]byte) error {
			calls++
			return nil
		})
		if err != io.ErrUnexpectedEOF || calls != 1 {
			t.Errorf("%v after %d calls", err, calls)
		}
		if err := p.Read(make([]byte, 400*kB), Range{File: f}, nil); err != io.ErrUnexpectedEOF {
			t.Error(err)
		}
	})
	t.Run("context", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		p := Pass{Context: ctx}
		defer p.Close()
		calls := 0
		err := p.Pieces(Range{File: newMapping(MB), Size: MB}, func([]byte) error {
			calls++
			cancel()
			return nil
		})
		if !errors.Is(err, context.Canceled) || calls != 1 {
			t.Errorf("%v after %d calls", err, calls)
		}
		if err := p.Pieces(Range{File: newMapping(MB)}, nil); !errors.Is(err, context.Canceled) {
			t.Errorf("nothing to read, and canceled: %v", err)
		}
	})
}
