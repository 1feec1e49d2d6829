package pass

import (
	"context"
	"runtime"
	"sync"
)

// PieceSize is the size of most pieces: large enough that a call costs nothing next to hashing it,
// and small enough that it is still in a cache when it is used. Pieces of a range begin at
// multiples of it, counted from the beginning.
const PieceSize = 256 << 10

// FetchSize is the number of bytes to read from a reader at a time, unless Pass.Fetch is set.
const FetchSize = 32 << 20

// Small is the number of bytes of mappings below which a pass uses them where they are, and the
// size of a file below which it does: a page fault maps as much, and opening the file would cost
// more than the fault.
const Small = 64 << 10

// mostOpen is the number of files that a pass keeps open.
const mostOpen = 64

// Pass is one operation that reads ranges of files, on any number of goroutines. The zero Pass is
// ready to use.
type Pass struct {
	Context context.Context // nil means context.Background
	// Fetch is the number of bytes to read from a reader at a time. 0 means FetchSize.
	Fetch int64
	// IsUse means that the bytes are used in place after the pass, so that it maps their pages.
	IsUse bool

	mu     sync.Mutex
	mapped int64             // bytes of ranges of mappings
	files  map[File]Reopened // at most mostOpen; nil for one that could not be opened
}

// Range is a range of a file.
type Range struct {
	File         File
	Offset, Size int64
	// Unit, if not 0, divides the sizes of all pieces but the last: that of a block of elements.
	Unit int64
	// IsWhole asks for the range in one piece.
	IsWhole bool
	// IsPrivate asks for pieces in memory that no other process can change and that does not fault:
	// for assembly with a stack frame, such as SHA-256, which cannot be unwound after a fault.
	IsPrivate bool
}

func (r *Range) end() int64 { return r.Offset + r.Size }

// Close closes the files that the pass has opened. The Pass may be used again.
func (p *Pass) Close() {
	for _, file := range p.files {
		if file != nil {
			file.Close()
		}
	}
	p.files = nil
	p.mapped = 0
}

// context returns the Context.
func (p *Pass) context() context.Context {
	if p.Context == nil {
		return context.Background()
	}
	return p.Context
}

// Pieces calls f with consecutive pieces of a valid range. A piece is valid until f returns. Pieces
// of a mapping may fault: the caller has a guard.
func (p *Pass) Pieces(r Range, f func(b []byte) error) error {
	if r.Size == 0 {
		return p.context().Err()
	}
	s := p.choose(&r)
	defer s.close()
	var buf *[]byte
	if s.memory == nil {
		buf = buffer(p.step(&r, &s))
		defer buffers.Put(buf)
	}
	return p.each(&r, &s, func(at, n int64) error {
		if s.memory != nil {
			s.populate(at, n)
			return f(s.memory[at : at+n])
		}
		b := (*buf)[:n]
		err := s.read(p.context(), b, at)
		if err != nil {
			return err
		}
		return f(b)
	})
}

// Read fills dst with a valid range of the size of dst. It calls f, if that is not nil, with
// consecutive pieces of dst.
func (p *Pass) Read(dst []byte, r Range, f func(b []byte) error) error {
	r.Size = int64(len(dst))
	r.IsPrivate = true
	s := p.choose(&r)
	defer s.close()
	return p.each(&r, &s, func(at, n int64) error {
		b := dst[at-r.Offset:][:n]
		err := s.read(p.context(), b, at)
		if err != nil || f == nil {
			return err
		}
		return f(b)
	})
}

// ReadEach fills buffers with consecutive bytes of a file, of which r is the range of all. It may
// change the elements of to. A file that was mapped is read into them by one system call.
func (p *Pass) ReadEach(to [][]byte, r Range) error {
	err := p.context().Err()
	if err != nil {
		return err
	}
	s := p.choose(&r)
	defer s.close()
	if s.again != nil {
		ok, err := s.again.ReadEach(to, r.Offset)
		if ok {
			return err
		}
	}
	r.IsWhole = true
	return p.Pieces(r, func(b []byte) error {
		for _, dst := range to {
			b = b[copy(dst, b):]
		}
		return nil
	})
}

// each calls f with the offsets and sizes of the pieces of a range. It is the only loop over a
// range.
func (p *Pass) each(r *Range, s *source, f func(at, n int64) error) error {
	step := p.step(r, s)
	for at, end := r.Offset, r.end(); at < end; {
		err := p.context().Err()
		if err != nil {
			return err
		}
		n := min(step, end-at)
		if align := s.kind.Align; align > 0 && r.Unit <= 1 && n < end-at && n >= align {
			n -= (at + n) % align
		}
		err = f(at, n)
		if err != nil {
			return err
		}
		at += n
		if at < end && n >= Small {
			runtime.Gosched() // short system calls keep the processor, and would delay timers
		}
	}
	return p.context().Err()
}

// step returns the size of the pieces of a range.
func (p *Pass) step(r *Range, s *source) int64 {
	step := int64(PieceSize)
	if s.kind.IsReader {
		step = p.Fetch
		if step == 0 {
			step = FetchSize
		}
	}
	if r.IsWhole {
		step = r.Size
	}
	if r.Unit > 1 {
		step = max(1, step/r.Unit) * r.Unit
	}
	return min(step, r.Size)
}

// buffers has memory for pieces.
var buffers = sync.Pool{New: func() any {
	b := make([]byte, PieceSize)
	return &b
}}

// buffer returns at least n bytes, to be put back.
func buffer(n int64) *[]byte {
	buf := buffers.Get().(*[]byte)
	if n > int64(len(*buf)) {
		*buf = make([]byte, n)
	}
	return buf
}
