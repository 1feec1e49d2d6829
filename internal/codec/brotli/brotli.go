// Package brotli is the codec "brotli": a raw Brotli stream (RFC 7932), which
// has no checksum.
//
// Reading is built in. The library that writes Brotli imports net/http, and a
// program that only reads models must not pay for that: it comes with the
// package mle/brotli, which calls Register.
package brotli

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"runtime"
	"sync"

	"github.com/dsnet/compress/brotli"
	"github.com/weightmap/weightmap/internal/codec"
)

// Codec is the codec "brotli".
var Codec codec.Streamer = codec.Stream{Library: library{}}

// ErrNoWriter says what to do when Brotli is to be written and no package has
// registered a writer.
var ErrNoWriter = errors.New(`writing Brotli takes import _ "github.com/weightmap/weightmap/mle/brotli"`)

type library struct{}

var newWriter func(w io.Writer, level int) io.WriteCloser

// Register sets the library that compresses, for levels from 1 to 9. It is for
// init functions.
func Register(w func(w io.Writer, level int) io.WriteCloser) { newWriter = w }

// Writes reports whether there is a library that compresses.
func Writes() bool { return newWriter != nil }

func (library) Name() string { return "brotli" }

// Window is that of the largest that RFC 7932 has, and what the library needs besides.
func (library) Window([]byte) int64 { return 20 << 20 }

// Size is not in the stream.
func (library) Size([]byte) int64 { return -1 }

func (library) NewWriter(w io.Writer, level int, _ int64) (io.WriteCloser, func(), error) {
	if newWriter == nil {
		return nil, nil, ErrNoWriter
	}
	return newWriter(w, level), func() {}, nil
}

// reader is a decompressor and what it reads from. The library is fast with a
// bufio.Reader, of which it takes no byte beyond the end of the stream.
type reader struct {
	z    brotli.Reader
	in   bytes.Reader
	buf  *bufio.Reader
	size int
}

var readers sync.Pool // of *reader

func (library) NewReader(src []byte) (codec.Reader, error) {
	r, ok := readers.Get().(*reader)
	if !ok {
		r = &reader{buf: bufio.NewReaderSize(nil, 32<<10)}
	}
	r.size = len(src)
	r.in.Reset(src)
	r.buf.Reset(&r.in)
	return r, r.z.Reset(r.buf)
}

func (r *reader) Read(p []byte) (n int, err error) { return guarded(&r.z, p) }

// guarded is z.Read, and makes an error of whatever panic the library may
// answer hostile input with; but not of a fault in the memory that it reads,
// which is for the guard of the mapping.
func guarded(z io.Reader, p []byte) (n int, err error) {
	defer func() {
		v := recover()
		if v == nil {
			return
		}
		bug, ok := v.(runtime.Error)
		if _, fault := v.(interface{ Addr() uintptr }); fault || !ok {
			panic(v)
		}
		n, err = 0, fmt.Errorf("not decodable: %w", bug)
	}()
	return z.Read(p)
}

func (r *reader) Rest() int { return r.size - int(r.z.InputOffset) }

func (r *reader) Release() {
	r.in.Reset(nil)
	readers.Put(r)
}
