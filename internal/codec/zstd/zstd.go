// Package zstd implements the codec "zstd": one Zstandard frame (RFC 8878). The writer adds a
// content checksum. Skippable frames, multiple frames and dictionaries are errors.
package zstd

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"
	"github.com/weightmap/weightmap/internal/codec"
)

// Codec is the codec "zstd".
var Codec = &codec.Stream{Name: "zstd", WindowOf: window, NewReader: newReader, Writers: writers{}}

func window(src []byte) int64 {
	f, err := parseFrame(src)
	if err != nil {
		return 0
	}
	const others = 2 << 20 // at most; they grow with the content
	return int64(f.window + min(others, 2*f.window))
}

// encoderLevels maps levels to the library's four.
var encoderLevels = [10]zstd.EncoderLevel{
	1: zstd.SpeedFastest, 2: zstd.SpeedFastest,
	3: zstd.SpeedDefault, 4: zstd.SpeedDefault, 5: zstd.SpeedDefault,
	6: zstd.SpeedBetterCompression, 7: zstd.SpeedBetterCompression, 8: zstd.SpeedBetterCompression,
	9: zstd.SpeedBestCompression,
}

type writers struct{}

// NewWriter uses a single goroutine, so the result does not depend on the number of CPUs. Callers
// may compress in parallel.
func (writers) NewWriter(level int) (codec.Writer, error) {
	return zstd.NewWriter(nil, zstd.WithEncoderLevel(encoderLevels[level]),
		zstd.WithEncoderConcurrency(1),
		zstd.WithEncoderCRC(true), zstd.WithZeroFrames(true))
}

type reader struct{ *zstd.Decoder }

func newReader() (codec.Reader, error) {
	const most = 1<<41 + 7<<38 // the largest window that the format permits
	z, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
		zstd.WithDecoderMaxMemory(1<<62), zstd.WithDecoderMaxWindow(most))
	return reader{z}, err
}

func (z reader) Reset(src []byte) error {
	f, err := parseFrame(src)
	if err != nil {
		return err
	}
	return z.Decoder.Reset(io.MultiReader(bytes.NewReader(f.rewritten()),
		bytes.NewReader(src[f.HeaderSize:])))
}

// Rest returns 0, since parseFrame has checked the end of the frame.
func (reader) Rest() int { return 0 }

// frame is the content of a frame's header and of its block headers.
type frame struct {
	zstd.Header
	window uint64 // how far back a match can reach
}

var errFrameEnd = fmt.Errorf("the frame ends early: %w", io.ErrUnexpectedEOF)

// parseFrame parses the headers of src, which must be exactly one frame. The decoder checks the
// content.
func parseFrame(src []byte) (f frame, err error) {
	if err := f.Decode(src); err != nil {
		return f, err
	}
	if f.Skippable || f.DictionaryID != 0 {
		return f, errors.New("a skippable frame, or one that needs a dictionary")
	}
	if f.SingleSegment {
		f.WindowSize = f.FrameContentSize
	}
	const blockMax = 128 << 10
	most := min(f.WindowSize, blockMax)
	content := uint64(0)
	rest := src[min(f.HeaderSize, len(src)):]
	for last := false; !last; {
		if len(rest) < 3 {
			return f, errFrameEnd
		}
		head := uint64(rest[0]) | uint64(rest[1])<<8 | uint64(rest[2])<<16
		last = head&1 != 0
		kind := head >> 1 & 3
		takes := head >> 3
		gives := takes
		switch kind {
		case 1: // one byte, repeated
			takes = 1
		case 2: // compressed
			gives = most
		}
		if gives > most {
			return f, fmt.Errorf("a block of %d bytes", gives)
		}
		if takes > uint64(len(rest)-3) {
			return f, errFrameEnd
		}
		content += gives
		rest = rest[3+takes:]
	}
	if f.HasCheckSum {
		if len(rest) < 4 {
			return f, errFrameEnd
		}
		rest = rest[4:]
	}
	if len(rest) > 0 {
		return f, fmt.Errorf("%d bytes after the frame", len(rest))
	}
	f.window = min(f.WindowSize, content)
	return f, nil
}

// rewritten returns the header with the smallest sufficient window, since the decoder allocates the
// window in the header.
func (f *frame) rewritten() []byte {
	log := byte(10)
	for log < 41 && uint64(1)<<log < f.window {
		log++
	}
	b := []byte{0x28, 0xB5, 0x2F, 0xFD, 0, (log - 10) << 3}
	if f.HasCheckSum {
		b[4] |= 1 << 2
	}
	if f.HasFCS {
		b[4] |= 3 << 6
		b = binary.LittleEndian.AppendUint64(b, f.FrameContentSize)
	}
	return b
}
