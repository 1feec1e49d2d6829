// Package brotli implements the codec "brotli": a raw Brotli stream (RFC 7932), which has no
// checksum.
//
// Decompression is built in. The library for compression imports net/http, which programs that only
// read should not have to link, so package mle/brotli adds it by calling Register.
package brotli

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"runtime"

	"github.com/dsnet/compress/brotli"
	"github.com/weightmap/weightmap/internal/codec"
	"github.com/weightmap/weightmap/internal/fault"
)

// Codec is the codec "brotli". Its window is the largest of RFC 7932 plus the library's own memory.
var Codec = &codec.Stream{
	Name:      "brotli",
	WindowOf:  func([]byte) int64 { return 20 << 20 },
	NewReader: newReader,
	Writers:   unregistered{},
}

type unregistered struct{}

func (unregistered) NewWriter(int) (codec.Writer, error) { return nil, ErrNoWriter }

// ErrNoWriter is returned by compression if no package has registered a writer.
var ErrNoWriter = errors.New(`writing Brotli takes import _ "github.com/weightmap/weightmap/mle/brotli"`)

// Register sets what makes compressors. It is called by init functions.
func Register(w codec.Writers) { Codec.Writers = w }

// Writes reports whether a compressor is registered.
func Writes() bool { return Codec.Writers != codec.Writers(unregistered{}) }

// reader is a decompressor with its input. The library is fast with a bufio.Reader and reads no
// byte past the end of the stream from it.
type reader struct {
	z    brotli.Reader
	in   bytes.Reader
	buf  *bufio.Reader
	size int
}

func newReader() (codec.Reader, error) {
	return &reader{buf: bufio.NewReaderSize(nil, 32<<10)}, nil
}

func (r *reader) Reset(src []byte) error {
	r.size = len(src)
	r.in.Reset(src)
	r.buf.Reset(&r.in)
	return r.z.Reset(r.buf)
}

func (r *reader) Read(p []byte) (n int, err error) { return guarded(&r.z, p) }

// guarded calls z.Read and returns an error if the library panics. It does not recover memory
// faults, which the mapping's guard handles.
func guarded(z io.Reader, p []byte) (n int, err error) {
	defer func() {
		v := recover()
		if v == nil {
			return
		}
		bug, isBug := v.(runtime.Error)
		_, isFault := v.(fault.Error)
		if isFault || !isBug {
			panic(v)
		}
		n = 0
		err = fmt.Errorf("not decodable: %w", bug)
	}()
	return z.Read(p)
}

func (r *reader) Rest() int { return r.size - int(r.z.InputOffset) }
