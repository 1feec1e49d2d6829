package gzip

import (
	"bytes"
	"compress/flate"
	"errors"
	"io"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/iotest"
)

// packed returns DEFLATE streams of every kind of block.
func packed(t testing.TB) map[string][]byte {
	t.Helper()
	r := rand.New(rand.NewPCG(5, 6))
	noise := make([]byte, 70_000)
	for i := range noise {
		noise[i] = byte(r.Uint32())
	}
	skewed := make([]byte, 3000) // codes of all lengths
	for i := range skewed {
		skewed[i] = byte(r.ExpFloat64() * 12)
	}
	text := []byte("weights, weights, and biases; ")
	streams := map[string][]byte{
		"fixed":          {0x4B, 0x04, 0x00},
		"empty":          {0x03, 0x00},
		"stored nothing": {0x01, 0x00, 0x00, 0xFF, 0xFF},
		"no distances":   {0x05, 0xC0, 0x01, 0x01, 0x00, 0x00, 0x00, 0x80, 0x20, 0xFF, 0xAF, 0x6D, 0x80},
	}
	for name, content := range map[string][]byte{
		"noise": noise[:2000], "stored": noise, "skewed": skewed, "uneven": uneven(40_000), "zeros": make([]byte, 100_000), "one": {7},
		"text": bytes.Repeat(text, 9), "far": slices.Concat(noise[:32_000], text, noise[:32_000]), "two": bytes.Repeat([]byte{1, 2}, 500),
	} {
		for _, level := range []int{flate.HuffmanOnly, 1, 6, 9} {
			if level == 1 && len(content) > 10_000 {
				continue
			}
			var out bytes.Buffer
			z, err := flate.NewWriter(&out, level)
			if err != nil {
				t.Fatal(err)
			}
			z.Write(content)
			z.Close()
			streams[name+string(rune('0'+max(level, 0)))] = out.Bytes()
		}
	}
	return streams
}

// most is how much of a stream the comparison looks at.
const most = 1 << 20

// compareInflate holds the inflater against the standard library: what both make of a stream, by
// way of memory as large, of the window, and of a reader, and how much of the input they use.
func compareInflate(t *testing.T, in []byte) {
	t.Helper()
	from := bytes.NewReader(in)
	want, wantErr := io.ReadAll(io.LimitReader(flate.NewReader(from), most+1))
	if len(want) > most {
		return
	}
	var f inflater
	f.reset(in, nil, nil)
	dst := make([]byte, len(want))
	n, err := f.inflate(dst, 0)
	switch {
	case (err == nil && f.state == atEnd) != (wantErr == nil):
		t.Fatalf("%d bytes: %v, in state %d; the library: %d, %v", n, err, f.state, len(want), wantErr)
	case wantErr != nil:
		return // where it was noticed may differ
	case n != len(want) || !bytes.Equal(dst, want):
		t.Fatalf("%d bytes, the library has %d others", n, len(want))
	case f.rest() != from.Len():
		t.Fatalf("%d bytes left, the library has %d", f.rest(), from.Len())
	}
	if len(dst) > 0 { // a byte less is not enough
		f.reset(in, nil, nil)
		if n, err := f.inflate(dst[:len(dst)-1], 0); n != len(dst)-1 || f.state == atEnd || err != nil {
			t.Fatalf("%d of %d bytes, in state %d: %v", n, len(dst), f.state, err)
		}
	}
	if len(in) > 5000 {
		return
	}
	for _, r := range []io.Reader{bytes.NewReader(in), iotest.OneByteReader(bytes.NewReader(in)), iotest.DataErrReader(bytes.NewReader(in))} {
		f.reset(nil, r, make([]byte, 11))
		var out []byte
		buf := make([]byte, window)
		for from := 0; f.state != atEnd; {
			to, err := f.inflate(buf, from)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, buf[from:to]...)
			if from = to; from == window {
				from = copy(buf, buf[window/2:])
			}
		}
		if !bytes.Equal(out, want) {
			t.Fatalf("%d bytes through a reader, the library has %d others", len(out), len(want))
		}
	}
}

// TestInflate: streams of every kind, cut anywhere and with any bit flipped, are to the inflater
// what they are to the standard library.
func TestInflate(t *testing.T) {
	for name, in := range packed(t) {
		t.Run(name, func(t *testing.T) {
			compareInflate(t, in)
			compareInflate(t, append(slices.Clone(in), 1, 2, 3, 4, 5, 6, 7, 8, 9))
			for i := range 8 * min(len(in), 60) {
				bad := slices.Clone(in)
				bad[i/8] ^= 1 << (i % 8)
				compareInflate(t, bad)
			}
			for n := range min(len(in), 60) {
				compareInflate(t, in[:n])
				compareInflate(t, in[:len(in)-n])
			}
		})
	}
}

func FuzzInflate(f *testing.F) {
	for _, in := range packed(f) {
		if len(in) < 5000 {
			f.Add(in)
		}
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		if len(in) < 1<<16 {
			compareInflate(t, in)
		}
	})
}

// TestInflateDistances: a copy may be from the first byte of the window, and not from before it.
func TestInflateDistances(t *testing.T) {
	// A fixed block of "a", a copy of 3 bytes from so far back, and the end.
	for back, ok := range map[int]bool{1: true, 2: false} {
		var b writer
		b.code(0x30+'a', 8)
		b.code(1, 7) // length 3
		b.code(uint(back-1), 5)
		b.code(0, 7)
		var f inflater
		f.reset(b.bytes(), nil, nil)
		dst := make([]byte, 4)
		n, err := f.inflate(dst, 0)
		if ok != (err == nil) || ok && string(dst[:n]) != "aaaa" || !ok && !errors.Is(err, errDistance) {
			t.Errorf("from %d back: %q, %v", back, dst[:n], err)
		}
	}
}

// writer writes a fixed block.
type writer struct {
	hold, bits uint
	out        []byte
}

// code appends a Huffman code, of which the first bit is the highest.
func (w *writer) code(code uint, n int) {
	if w.out == nil && w.bits == 0 {
		w.hold, w.bits = 3, 3 // the last block, of fixed codes
	}
	for n--; n >= 0; n-- {
		w.hold |= code >> n & 1 << w.bits
		if w.bits++; w.bits == 8 {
			w.out, w.hold, w.bits = append(w.out, byte(w.hold)), 0, 0
		}
	}
}

func (w *writer) bytes() []byte { return append(w.out, byte(w.hold)) }
