package gzip

import (
	"encoding/binary"
	"errors"
	"io"
)

// inflater decompresses DEFLATE (RFC 1951) from a slice, or a reader, into memory of
// the caller, which is also the window that copies are taken from. It uses no byte of
// input twice: that may be a mapping that changes.
type inflater struct {
	in  []byte // in[at:] was not taken yet
	at  int
	src io.Reader // more input, nil for none
	buf []byte    // what src is read into
	err error     // what src failed with

	hold uint64 // bits that were taken and not used
	bits uint   // how many

	state        state
	final        bool // the block is the last one
	left         int  // bytes of a stored block, or of a copy
	back         int  // how far back a copy is from
	litlen, dist table
}

// state is what comes next.
type state uint8

const (
	atBlock   state = iota // a block's header, or the end
	inStored               // so many bytes as they are
	inCopy                 // so many bytes from so far back
	inSymbols              // codes of a compressed block
	atEnd                  // nothing
)

var (
	errBlock    = errors.New("invalid type of a block")
	errStored   = errors.New("invalid length of a stored block")
	errCode     = errors.New("invalid Huffman code")
	errDistance = errors.New("a copy from before the beginning")
)

// reset begins a stream in src, or in what r reads, by way of buf.
func (f *inflater) reset(src []byte, r io.Reader, buf []byte) {
	f.in, f.at, f.src, f.buf, f.err = src, 0, r, buf, nil
	f.hold, f.bits, f.state, f.final, f.left = 0, 0, atBlock, false, 0
}

// rest returns how many bytes of the input at hand were not used.
func (f *inflater) rest() int { return len(f.in) - f.at + int(f.bits/8) }

// fill makes sure of 56 bits, or of all there are.
func (f *inflater) fill() {
	if len(f.in)-f.at >= 8 {
		n := (63 - f.bits) &^ 7
		f.hold |= (binary.LittleEndian.Uint64(f.in[f.at:]) & (1<<n - 1)) << f.bits
		f.at += int(n / 8)
		f.bits += n
		return
	}
	for f.bits < 56 && (f.at < len(f.in) || f.next()) {
		f.hold |= uint64(f.in[f.at]) << f.bits
		f.at++
		f.bits += 8
	}
}

// next reads more input and reports whether there is any.
func (f *inflater) next() bool {
	for range 100 {
		if f.src == nil || f.err != nil {
			return false
		}
		n, err := f.src.Read(f.buf)
		f.in, f.at, f.err = f.buf[:n], 0, err
		if n > 0 {
			return true
		}
	}
	f.err = io.ErrNoProgress
	return false
}

// take uses n bits, at most 32.
func (f *inflater) take(n uint) (uint32, error) {
	if f.bits < n {
		if f.fill(); f.bits < n {
			return 0, io.ErrUnexpectedEOF
		}
	}
	v := uint32(f.hold & (1<<n - 1))
	f.hold >>= n
	f.bits -= n
	return v, nil
}

// align drops bits up to the next byte.
func (f *inflater) align() {
	f.hold >>= f.bits & 7
	f.bits &^= 7
}

// inflate decompresses to dst from w on, behind the last 32 KiB so far, or all. It
// returns where it stopped: at the end of the stream, or where there is no room for
// what comes next.
func (f *inflater) inflate(dst []byte, w int) (_ int, err error) {
	for err == nil && f.state != atEnd {
		switch f.state {
		case atBlock:
			err = f.block()
			continue
		case inStored:
			w, err = f.stored(dst, w)
		case inCopy:
			w = f.copy(dst, w)
		case inSymbols:
			w, err = f.symbols(dst, w)
		}
		if f.state != atBlock && w == len(dst) {
			break
		}
	}
	return w, err
}

// block reads the header of a block.
func (f *inflater) block() error {
	if f.final {
		f.align()
		f.state = atEnd
		return nil
	}
	h, err := f.take(3)
	if err != nil {
		return err
	}
	f.final = h&1 != 0
	switch h >> 1 {
	case 0:
		f.align()
		n, err := f.take(32)
		if err != nil {
			return err
		}
		if uint16(n) != ^uint16(n>>16) {
			return errStored
		}
		f.state, f.left = inStored, int(uint16(n))
		return nil
	case 1:
		err = f.fixed()
	case 2:
		err = f.dynamic()
	default:
		err = errBlock
	}
	f.state = inSymbols
	return err
}

// stored copies bytes of a stored block.
func (f *inflater) stored(dst []byte, w int) (int, error) {
	for ; f.left > 0 && w < len(dst) && f.bits > 0; f.left-- {
		dst[w] = byte(f.hold)
		f.hold >>= 8
		f.bits -= 8
		w++
	}
	for f.left > 0 && w < len(dst) {
		if f.at == len(f.in) && !f.next() {
			return w, io.ErrUnexpectedEOF
		}
		n := copy(dst[w:min(len(dst), w+f.left)], f.in[f.at:])
		f.at += n
		f.left -= n
		w += n
	}
	if f.left == 0 {
		f.state = atBlock
	}
	return w, nil
}

// copy repeats bytes from so far back.
func (f *inflater) copy(dst []byte, w int) int {
	n := min(f.left, len(dst)-w)
	from := w - f.back
	for end := w + n; w < end; {
		w += copy(dst[w:end], dst[from:w]) // what was repeated is repeated in turn
	}
	if f.left -= n; f.left == 0 {
		f.state = inSymbols
	}
	return w
}

// symbols decompresses a block up to its end, or to where there is no room. What
// changes is in variables meanwhile, and in f again where it returns or asks for input.
func (f *inflater) symbols(dst []byte, w int) (_ int, err error) {
	in, at, hold, bits := f.in, f.at, f.hold, f.bits
	defer func() { f.at, f.hold, f.bits = at, hold, bits }()
	for {
		if bits < 48 { // what a length and a distance may take
			if len(in)-at >= 8 {
				n := (63 - bits) &^ 7
				hold |= (binary.LittleEndian.Uint64(in[at:]) & (1<<n - 1)) << bits
				at += int(n / 8)
				bits += n
			} else {
				f.at, f.hold, f.bits = at, hold, bits
				f.fill()
				in, at, hold, bits = f.in, f.at, f.hold, f.bits
			}
		}
		e := f.litlen.first[hold&f.litlen.mask]
		if e&link != 0 {
			e = f.litlen.second[e.in(hold>>f.litlen.root)]
		}
		size := uint(e & sizeMask)
		if size > bits {
			return w, io.ErrUnexpectedEOF
		}
		if e&literal != 0 {
			if w >= len(dst) {
				return w, nil // used the next time
			}
			dst[w] = byte(e >> valueAt)
			w++
			hold >>= size
			bits -= size
			continue
		}
		hold >>= size
		bits -= size
		if e&base == 0 {
			if e&end == 0 {
				return w, errCode
			}
			f.state = atBlock
			return w, nil
		}
		extra := uint(e >> extraAt & extraMask)
		if extra > bits {
			return w, io.ErrUnexpectedEOF
		}
		f.left = int(e>>valueAt) + int(hold&(1<<extra-1))
		hold >>= extra
		bits -= extra

		e = f.dist.first[hold&f.dist.mask]
		if e&link != 0 {
			e = f.dist.second[e.in(hold>>f.dist.root)]
		}
		size, extra = uint(e&sizeMask), uint(e>>extraAt&extraMask)
		switch {
		case e&base == 0:
			return w, errCode
		case size+extra > bits:
			return w, io.ErrUnexpectedEOF
		}
		f.back = int(e>>valueAt) + int(hold>>size&(1<<extra-1))
		hold >>= size + extra
		bits -= size + extra
		if f.back > w {
			return w, errDistance
		}
		f.state = inCopy
		if w = f.copy(dst, w); f.state == inCopy {
			return w, nil
		}
	}
}
