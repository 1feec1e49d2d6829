// Package zstd is the codec "zstd": one Zstandard frame (RFC 8878), with a
// content checksum when we write it. Skippable frames, further frames and
// dictionaries are refused.
package zstd

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/klauspost/compress/zstd"
	"github.com/weightmap/weightmap/internal/codec"
)

// Codec is the codec "zstd".
var Codec codec.Streamer = library{}

type library struct{}

var (
	decoders sync.Pool     // of *zstd.Decoder, for whole frames
	streams  sync.Pool     // likewise, that have held a usual window
	encoders [10]sync.Pool // of *zstd.Encoder, by level
)

// encoderLevel maps levels to the four the library has.
func encoderLevel(level int) zstd.EncoderLevel {
	switch {
	case level <= 2:
		return zstd.SpeedFastest
	case level <= 5:
		return zstd.SpeedDefault
	case level <= 8:
		return zstd.SpeedBetterCompression
	}
	return zstd.SpeedBestCompression
}

func (library) Name() string { return "zstd" }

// encoder takes one from the pool of its level or makes it. One goroutine
// each: callers compress in parallel if they want to, and results then do
// not depend on the number of CPUs.
func (library) encoder(level int) (*zstd.Encoder, *sync.Pool, error) {
	level, err := codec.CheckLevel(level)
	if err != nil {
		return nil, nil, err
	}
	pool := &encoders[level]
	if z, ok := pool.Get().(*zstd.Encoder); ok {
		return z, pool, nil
	}
	z, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(encoderLevel(level)), zstd.WithEncoderConcurrency(1),
		zstd.WithEncoderCRC(true), zstd.WithZeroFrames(true))
	return z, pool, err
}

func (c library) Compress(src []byte, level int) ([]byte, error) {
	z, pool, err := c.encoder(level)
	if err != nil {
		return nil, err
	}
	out := z.EncodeAll(src, make([]byte, 0, len(src)/2+64))
	pool.Put(z)
	return out, nil
}

func (c library) NewWriter(w io.Writer, level int, size int64) (io.WriteCloser, error) {
	z, pool, err := c.encoder(level)
	if err != nil {
		return nil, err
	}
	if size == 0 {
		z.Reset(w)
	} else {
		z.ResetContentSize(w, size)
	}
	return codec.NewCounted(z, "zstd", size, func() { z.Reset(nil); pool.Put(z) }), nil
}

func (c library) Decompress(src []byte, size int64) ([]byte, error) {
	return codec.Decompress(c, src, size)
}

func (library) DecompressInto(dst, src []byte) error {
	f, err := frameOfSize(src, int64(len(dst)))
	if err != nil {
		return err
	}
	// A fault in the library's assembly could not be unwound: it reads a copy.
	if f.window > zstd.MaxWindowSize {
		src = append(f.rewritten(), src[f.header:]...)
	} else {
		src = bytes.Clone(src)
	}
	z, err := newDecoder()
	if err != nil {
		return err
	}
	into := dst[:0:len(dst)]
	if len(dst) == 0 {
		into = make([]byte, 0, 1) // without any room the library would allocate
	}
	out, err := z.DecodeAll(src, into)
	if err != nil {
		return codec.Corrupt("zstd", err)
	}
	if len(dst) <= mostHeld {
		decoders.Put(z)
	}
	return ofSize(int64(len(out)), int64(len(dst)))
}

func (c library) Expand(w io.Writer, src []byte, size int64) error {
	f, err := frameOfSize(src, size)
	if err != nil {
		return err
	}
	n, err := f.expand(w, src, size)
	if err == nil {
		err = ofSize(n, size)
	}
	return err
}

func (library) Window(src []byte) int64 {
	f, err := parseFrame(src)
	if err != nil {
		return 0
	}
	return int64(f.needs()) + 2<<20
}

// frameOfSize parses the frame and refuses one that cannot hold size bytes.
func frameOfSize(src []byte, size int64) (frame, error) {
	f, err := parseFrame(src)
	switch {
	case err != nil:
		err = codec.Corrupt("zstd", err)
	case f.known && f.content != uint64(size):
		err = codec.Corruptf("zstd", "the frame says %d bytes, not %d", f.content, size)
	case f.most < uint64(size):
		err = codec.Corruptf("zstd", "the frame holds at most %d bytes, not %d", f.most, size)
	}
	return f, err
}

func ofSize(n, size int64) error {
	if n != size {
		return codec.Corruptf("zstd", "holds %d bytes, not %d", n, size)
	}
	return nil
}

func (c library) DecompressMax(src []byte, limit int64) ([]byte, error) {
	if err := codec.CheckSize(limit); err != nil {
		return nil, err
	}
	f, err := parseFrame(src)
	if err != nil {
		return nil, codec.Corrupt("zstd", err)
	}
	switch {
	case !f.known:
		return codec.DecompressMax(c, src, limit, func(w io.Writer) (int64, error) { return f.expand(w, src, limit) })
	case f.content > uint64(limit):
		return nil, codec.TooLong("zstd", limit)
	}
	return c.Decompress(src, int64(f.content))
}

// blockMax is how many bytes one block can hold.
const blockMax = 128 << 10

// newDecoder takes a decoder from the pool or makes one, for one goroutine. It
// fills the capacity it is given and asks for no more: the size of a window means
// nothing where all of the content is in memory.
func newDecoder() (*zstd.Decoder, error) {
	if z, ok := decoders.Get().(*zstd.Decoder); ok {
		return z, nil
	}
	return zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecodeAllCapLimit(true),
		zstd.WithDecoderMaxMemory(1<<62), zstd.WithDecoderMaxWindow(maxWindow))
}

// wide is held while a window is in memory that is larger than writers make it
// without being asked to.
var wide sync.Mutex

const (
	mostHeld    = 1 << 20 // a decoder in a pool refers to what it decoded last
	usualWindow = 8 << 20
	maxWindow   = 1<<41 + 7<<38 // of the format
)

// expand writes what the frame holds to w and returns how much it is. It stops behind
// most bytes.
func (f frame) expand(w io.Writer, src []byte, most int64) (int64, error) {
	pool := &streams
	if f.needs() > usualWindow {
		wide.Lock()
		defer wide.Unlock()
		pool = &sync.Pool{}
	}
	z, ok := pool.Get().(*zstd.Decoder)
	if !ok {
		var err error
		z, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
			zstd.WithDecoderMaxMemory(1<<62), zstd.WithDecoderMaxWindow(maxWindow))
		if err != nil {
			return 0, err
		}
	}
	if err := z.Reset(io.MultiReader(bytes.NewReader(f.rewritten()), bytes.NewReader(src[f.header:]))); err != nil {
		return 0, codec.Corrupt("zstd", err)
	}
	o := &limited{w: w, left: most}
	_, err := z.WriteTo(o)
	switch {
	case o.err != nil:
		return most - o.left, o.err
	case o.left < 0:
		return most - o.left, nil
	case err != nil:
		return most - o.left, codec.Corrupt("zstd", codec.NoEOF(err))
	}
	pool.Put(z)
	return most - o.left, nil
}

// limited passes on so many bytes, and then ends the writing.
type limited struct {
	w    io.Writer
	left int64
	err  error // of w
}

func (l *limited) Write(p []byte) (n int, err error) {
	if l.left -= int64(len(p)); l.left < 0 {
		return 0, errEnough
	}
	n, l.err = l.w.Write(p)
	return n, l.err
}

var errEnough = errors.New("more bytes than wanted")

// frame is what the header and the block headers of a frame say.
type frame struct {
	known    bool   // content is recorded
	content  uint64 // content size
	window   uint64 // window size
	checksum bool
	header   int    // bytes up to the first block
	most     uint64 // no more bytes than this can come out
}

var errFrameEnd = fmt.Errorf("the frame ends early: %w", io.ErrUnexpectedEOF)

// parseFrame walks src, which must be one frame and nothing else. It reads
// only block headers, so it costs next to nothing.
func parseFrame(src []byte) (f frame, err error) {
	var h zstd.Header
	if err := h.Decode(src); err != nil {
		return f, codec.NoEOF(err)
	}
	switch {
	case h.Skippable:
		return f, errors.New("a skippable frame")
	case h.DictionaryID != 0:
		return f, fmt.Errorf("it needs dictionary %d", h.DictionaryID)
	}
	f = frame{known: h.HasFCS, content: h.FrameContentSize, window: h.WindowSize, checksum: h.HasCheckSum, header: h.HeaderSize}
	if h.SingleSegment {
		f.window = h.FrameContentSize
	}
	most := min(f.window, blockMax)
	rest := src[min(f.header, len(src)):]
	for last := false; !last; {
		if len(rest) < 3 {
			return f, errFrameEnd
		}
		head := uint64(rest[0]) | uint64(rest[1])<<8 | uint64(rest[2])<<16
		last = head&1 != 0
		kind, size := head>>1&3, head>>3
		takes, gives := size, size
		switch kind {
		case 1: // one byte, repeated
			takes = 1
		case 2:
			gives = most
		case 3:
			return f, errors.New("a block of the reserved type")
		}
		if gives > most || size > blockMax {
			return f, fmt.Errorf("a block of %d bytes", size)
		}
		if takes > uint64(len(rest)-3) {
			return f, errFrameEnd
		}
		f.most += gives
		rest = rest[3+takes:]
	}
	if f.checksum {
		if len(rest) < 4 {
			return f, errFrameEnd
		}
		rest = rest[4:]
	}
	if len(rest) > 0 {
		return f, fmt.Errorf("%d bytes after the frame", len(rest))
	}
	return f, nil
}

// needs returns how far back the content can reach.
func (f frame) needs() uint64 { return min(f.window, f.most) }

// rewritten returns the header without content size, and with no larger a window than
// the content can need: that is what a decoder allocates.
func (f frame) rewritten() []byte {
	log := uint64(10)
	for log < 41 && uint64(1)<<log < f.needs() {
		log++
	}
	descriptor := byte(0)
	if f.checksum {
		descriptor = 1 << 2
	}
	return []byte{0x28, 0xB5, 0x2F, 0xFD, descriptor, byte(log-10) << 3}
}
