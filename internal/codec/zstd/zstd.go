// Package zstd is the codec "zstd": one Zstandard frame (RFC 8878), with a
// content checksum when we write it. Skippable frames, further frames and
// dictionaries are refused.
package zstd

import (
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/klauspost/compress/zstd"
	"github.com/weightmap/weightmap/internal/codec"
	"github.com/weightmap/weightmap/internal/memory"
)

// Codec is the codec "zstd".
var Codec codec.Streamer = library{}

type library struct{}

var (
	decoders sync.Pool     // of *zstd.Decoder
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
	if err := codec.CheckSize(size); err != nil {
		return nil, err
	}
	f, err := frameOfSize(src, size)
	if err != nil {
		return nil, err
	}
	out, err := c.decompress(src, f, size)
	if err != nil {
		return nil, codec.Corrupt("zstd", err)
	}
	if err := ofSize(out, size); err != nil {
		return nil, err
	}
	return out, nil
}

func (c library) DecompressInto(dst, src []byte) error {
	f, err := frameOfSize(src, int64(len(dst)))
	if err != nil {
		return err
	}
	if len(dst) == 0 {
		_, err := c.decompress(src, f, 0)
		return err
	}
	z, err := newDecoder()
	if err != nil {
		return err
	}
	if f.window > zstd.MaxWindowSize {
		src = f.rewrite(src)
	}
	out, err := z.DecodeAll(src, dst[:0:len(dst)])
	if err != nil {
		return codec.Corrupt("zstd", err)
	}
	decoders.Put(z)
	return ofSize(out, int64(len(dst)))
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

func ofSize(out []byte, size int64) error {
	if int64(len(out)) != size {
		return codec.Corruptf("zstd", "holds %d bytes, not %d", len(out), size)
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
	if f.known && f.content > uint64(limit) {
		return nil, codec.TooLong("zstd", limit)
	}
	// With a block more than the limit there is no doubt whether content that
	// does not fit is too long or broken.
	room := int64(min(f.most, uint64(limit)+blockMax))
	if f.known {
		room = min(room, int64(f.content))
	}
	out, err := c.decompress(src, f, room)
	if int64(len(out)) > limit {
		return nil, codec.TooLong("zstd", limit)
	}
	if err != nil {
		return nil, codec.Corrupt("zstd", err)
	}
	return out, nil
}

// blockMax is how many bytes one block can hold.
const blockMax = 128 << 10

// newDecoder takes a decoder from the pool or makes one, for one goroutine. It
// fills the capacity it is given and asks for no more.
func newDecoder() (*zstd.Decoder, error) {
	if z, ok := decoders.Get().(*zstd.Decoder); ok {
		return z, nil
	}
	return zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
		zstd.WithDecodeAllCapLimit(true), zstd.WithDecoderMaxMemory(1<<62))
}

// decompress decodes up to size bytes, and returns what it has also when it
// fails. Where size is out of proportion to src it begins with less room and
// tries again with more, as long as the content really fills what it had.
func (library) decompress(src []byte, f frame, size int64) ([]byte, error) {
	z, err := newDecoder()
	if err != nil {
		return nil, err
	}
	room := min(size, codec.Ahead(len(src)))
	if size > room || f.window > zstd.MaxWindowSize {
		src = f.rewrite(src)
	}
	for {
		// Without any room the library would allocate.
		out, err := z.DecodeAll(src, memory.Aligned(int(max(room, 1)))[:0])
		if err == nil && int64(len(out)) <= size {
			decoders.Put(z)
			return out[:len(out):len(out)], nil
		}
		// Blocks come whole, so content that was stopped by the end of the room
		// got at least near it.
		if room == size || int64(len(out))+blockMax < room {
			if err == nil {
				err = zstd.ErrDecoderSizeExceeded
			}
			return out, err
		}
		room = min(size, 2*codec.Growth*room)
	}
}

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

// rewrite gives the frame a header without content size, since a decoder that
// sees one asks for so much room before it decodes anything, and with no
// larger a window than the content can need.
func (f frame) rewrite(src []byte) []byte {
	log := uint64(10)
	for want := min(f.window, f.most); log < 41 && uint64(1)<<log < want; log++ {
	}
	descriptor := byte(0)
	if f.checksum {
		descriptor = 1 << 2
	}
	out := make([]byte, 0, len(src)+6)
	out = append(out, 0x28, 0xB5, 0x2F, 0xFD, descriptor, byte(log-10)<<3)
	return append(out, src[f.header:]...)
}
