package codec

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
	"github.com/weightmap/weightmap/internal/memory"
	"github.com/weightmap/weightmap/tensor"
)

var names = []string{"brotli", "gzip", "lz4", "zstd"}

func mustLookup(t testing.TB, name string) Codec {
	t.Helper()
	c, err := Lookup(name)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func mustCompress(t testing.TB, c Codec, src []byte, level int) []byte {
	t.Helper()
	out, err := c.Compress(src, level)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// weights makes floats that look like a trained model's, rounded so that they
// compress a little.
func weights(n int) []byte {
	r := rand.New(rand.NewPCG(1, 2))
	out := make([]byte, 0, n+4)
	for len(out) < n {
		f := math.Float32bits(float32(r.NormFloat64()*0.05)) &^ 0xFFF
		out = binary.LittleEndian.AppendUint32(out, f)
	}
	return out[:n]
}

func inputs() map[string][]byte {
	r := rand.New(rand.NewPCG(3, 4))
	noise := make([]byte, 30_000)
	for i := range noise {
		noise[i] = byte(r.Uint32())
	}
	return map[string][]byte{
		"empty": {}, "one": {7}, "fourteen": make([]byte, 14), "fifteen": noise[:15],
		"short": []byte("abcabcabcabcabcabcabcabcabc"), "zeros": make([]byte, 150_000),
		"noise": noise, "weights": weights(1<<16 + 3),
	}
}

func TestRoundTrip(t *testing.T) {
	for _, name := range names {
		c := mustLookup(t, name)
		if c.Name() != name {
			t.Errorf("Name() = %q, want %q", c.Name(), name)
		}
		for label, src := range inputs() {
			for level := range 10 {
				if level > 7 && len(src) > 10_000 {
					continue
				}
				packed := mustCompress(t, c, src, level)
				if again := mustCompress(t, c, src, level); !bytes.Equal(packed, again) {
					t.Errorf("%s/%s/%d: two results", name, label, level)
				}
				got, err := c.Decompress(packed, int64(len(src)))
				if err != nil || !bytes.Equal(got, src) {
					t.Errorf("%s/%s/%d: %v", name, label, level, err)
					continue
				}
				if cap(got) > 0 && len(got) > 0 && memory.Address(got)%64 != 0 {
					t.Errorf("%s/%s/%d: misaligned", name, label, level)
				}
				into := make([]byte, len(src))
				if err := c.DecompressInto(into, packed); err != nil || !bytes.Equal(into, src) {
					t.Errorf("%s/%s/%d into: %v", name, label, level, err)
				}
				for _, limit := range []int64{int64(len(src)), int64(len(src)) + 1, 1 << 30} {
					got, err := c.DecompressMax(packed, limit)
					if err != nil || !bytes.Equal(got, src) {
						t.Errorf("%s/%s/%d max %d: %v", name, label, level, limit, err)
					}
				}
			}
		}
	}
}

func TestStreamingEqualsItself(t *testing.T) {
	src := weights(300_001)
	for _, name := range []string{"brotli", "gzip", "zstd"} {
		s := mustLookup(t, name).(Streamer)
		var want []byte
		for _, piece := range []int{len(src), 1, 1000, 256 << 10} {
			if piece == 1 && name == "brotli" {
				piece = 13
			}
			var out bytes.Buffer
			w, err := s.NewWriter(&out, 3, int64(len(src)))
			if err != nil {
				t.Fatal(err)
			}
			for p := range slices.Chunk(src, piece) {
				if _, err := w.Write(p); err != nil {
					t.Fatal(err)
				}
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			if want == nil {
				want = out.Bytes()
			}
			if !bytes.Equal(want, out.Bytes()) {
				t.Errorf("%s: writes of %d bytes give other bytes", name, piece)
			}
			got, err := s.Decompress(out.Bytes(), int64(len(src)))
			if err != nil || !bytes.Equal(got, src) {
				t.Errorf("%s/%d: %v", name, piece, err)
			}
		}
	}
}

func TestStreamingChecksSize(t *testing.T) {
	for _, name := range []string{"brotli", "gzip", "zstd"} {
		s := mustLookup(t, name).(Streamer)
		for _, n := range []int64{0, 3, 5} {
			w, err := s.NewWriter(io.Discard, 1, n)
			if err != nil {
				t.Fatal(err)
			}
			_, err = w.Write([]byte("four"))
			if err == nil {
				err = w.Close()
			}
			if !errors.Is(err, tensor.ErrShape) {
				t.Errorf("%s: 4 bytes for %d: %v, want ErrShape", name, n, err)
			}
		}
	}
}

func TestNotExactly(t *testing.T) {
	src := weights(20_000)
	for _, name := range names {
		c := mustLookup(t, name)
		good := mustCompress(t, c, src, 6)
		size := int64(len(src))
		tests := []struct {
			name string
			in   []byte
			size int64
		}{
			{"empty input", nil, size},
			{"empty input, no size", nil, 0},
			{"cut by one", good[:len(good)-1], size},
			{"cut by half", good[:len(good)/2], size},
			{"one byte more", append(slices.Clone(good), 0), size},
			{"twice", append(slices.Clone(good), good...), size},
			{"twice, both wanted", append(slices.Clone(good), good...), 2 * size},
			{"size one less", good, size - 1},
			{"size one more", good, size + 1},
			{"size 0", good, 0},
			{"size negative", good, -1},
			{"size ten times", good, 10 * size},
			{"size 1 TiB", good, 1 << 40},
		}
		for _, tt := range tests {
			before := allocated()
			_, err := c.Decompress(tt.in, tt.size)
			if !errors.Is(err, tensor.ErrCorrupt) && !(math.MaxInt == math.MaxInt32 && errors.Is(err, tensor.ErrLimit)) {
				t.Errorf("%s: %s: %v, want ErrCorrupt", name, tt.name, err)
			}
			if tt.size >= 0 && tt.size <= 20*size {
				if err := c.DecompressInto(make([]byte, tt.size), tt.in); !errors.Is(err, tensor.ErrCorrupt) {
					t.Errorf("%s: %s: into: %v, want ErrCorrupt", name, tt.name, err)
				}
			}
			if used := allocated() - before; used > 8<<20 {
				t.Errorf("%s: %s: allocated %d bytes", name, tt.name, used)
			}
		}
		if _, err := c.DecompressMax(good, size-1); !errors.Is(err, tensor.ErrLimit) {
			t.Errorf("%s: limit one less: %v, want ErrLimit", name, err)
		}
		for n := range len(good) {
			if n > 300 && n < len(good)-20 {
				continue
			}
			if _, err := c.Decompress(good[:n], size); !errors.Is(err, tensor.ErrCorrupt) {
				t.Fatalf("%s: cut to %d: %v", name, n, err)
			}
			if _, err := c.DecompressMax(good[:n], size); err == nil && name != "lz4" {
				t.Fatalf("%s: max, cut to %d: no error", name, n)
			}
		}
	}
}

func allocated() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.TotalAlloc
}

// TestBitFlips: gzip and zstd carry sums, so no flip in the content may pass.
// The others must not panic.
func TestBitFlips(t *testing.T) {
	src := weights(600)
	for _, name := range names {
		c := mustLookup(t, name)
		good := mustCompress(t, c, src, 6)
		for i := range 8 * len(good) {
			bad := slices.Clone(good)
			bad[i/8] ^= 1 << (i % 8)
			got, err := c.Decompress(bad, int64(len(src)))
			if err == nil && (name == "gzip" || name == "zstd") && !bytes.Equal(got, src) {
				t.Fatalf("%s: flip of bit %d passed", name, i)
			}
			if err != nil && !errors.Is(err, tensor.ErrCorrupt) {
				t.Fatalf("%s: flip of bit %d: %v", name, i, err)
			}
		}
	}
}

// TestBombs: what a small stream claims is not allocated unless it arrives.
func TestBombs(t *testing.T) {
	const real = 8 << 20
	for _, name := range names {
		c := mustLookup(t, name)
		bomb := mustCompress(t, c, make([]byte, real), 6)
		t.Logf("%s: %d bytes hold %d", name, len(bomb), real)
		for _, claim := range []int64{1 << 30, 1<<31 - 1<<16, 1 << 36} {
			before := allocated()
			if _, err := c.Decompress(bomb, claim); err == nil {
				t.Errorf("%s: %d bytes claimed: no error", name, claim)
			}
			if used := allocated() - before; used > 6*real+40<<20 {
				t.Errorf("%s: %d claimed, %d there, allocated %d", name, claim, real, used)
			}
		}
		before := allocated()
		if _, err := c.DecompressMax(bomb, 1<<16); !errors.Is(err, tensor.ErrLimit) {
			t.Errorf("%s: limit: %v, want ErrLimit", name, err)
		}
		if _, err := c.Decompress(bomb, 1<<16); !errors.Is(err, tensor.ErrCorrupt) {
			t.Errorf("%s: less claimed: %v, want ErrCorrupt", name, err)
		}
		if used := allocated() - before; used > 40<<20 { // brotli's window is 16 MiB
			t.Errorf("%s: limit 64 KiB, allocated %d", name, used)
		}
		if got, err := c.Decompress(bomb, real); err != nil || len(got) != real {
			t.Errorf("%s: honest size: %v", name, err)
		}
	}
}

// frameOf builds a zstd frame field by field (RFC 8878, section 3.1.1).
func frameOf(descriptor byte, fields []byte, blocks ...[]byte) []byte {
	out := append([]byte{0x28, 0xB5, 0x2F, 0xFD, descriptor}, fields...)
	for i, b := range blocks {
		if i == len(blocks)-1 {
			b = slices.Clone(b)
			b[0] |= 1
		}
		out = append(out, b...)
	}
	return out
}

func block(kind, size int, content ...byte) []byte {
	head := kind<<1 | size<<3
	return append([]byte{byte(head), byte(head >> 8), byte(head >> 16)}, content...)
}

func TestZstdFrames(t *testing.T) {
	abc := block(0, 3, 'a', 'b', 'c')
	good := frameOf(0x20, []byte{3}, abc)
	skippable := []byte{0x50, 0x2A, 0x4D, 0x18, 2, 0, 0, 0, 9, 9}
	huge := frameOf(0xC0, []byte{0xF8, 0, 0, 0, 0, 1, 0, 0, 0}, block(2, 2, 0x01, 0x00))
	tests := []struct {
		name string
		in   []byte
		size int64
		want string // "" means an error
	}{
		{"single segment", good, 3, "abc"},
		{"no content size", frameOf(0, []byte{0}, abc), 3, "abc"},
		{"window of 2 GiB", frameOf(0, []byte{21 << 3}, abc), 3, "abc"},
		{"largest window", frameOf(0, []byte{0xFF}, abc), 3, "abc"},
		{"two blocks", frameOf(0, []byte{0}, abc, block(1, 4, 'x')), 7, "abcxxxx"},
		{"empty", frameOf(0x20, []byte{0}, block(0, 0)), 0, ""},
		{"skippable before", append(slices.Clone(skippable), good...), 3, ""},
		{"skippable after", append(slices.Clone(good), skippable...), 3, ""},
		{"two frames", append(slices.Clone(good), good...), 6, ""},
		{"dictionary", frameOf(0x21, []byte{5, 3}, abc), 3, ""},
		{"content size lies", frameOf(0x20, []byte{4}, abc), 4, ""},
		{"content size lies less", frameOf(0x20, []byte{2}, abc), 2, ""},
		{"reserved block", frameOf(0x20, []byte{3}, block(3, 3, 1, 2, 3)), 3, ""},
		{"no last block", frameOf(0x20, []byte{6}, abc, abc)[:12], 6, ""},
		{"content size of 4 GiB", huge, 1 << 32, ""},
	}
	for _, tt := range tests {
		before := allocated()
		got, err := zstdCodec{}.Decompress(tt.in, tt.size)
		if tt.want == "" && tt.size > 0 {
			if !errors.Is(err, tensor.ErrCorrupt) && !errors.Is(err, tensor.ErrLimit) {
				t.Errorf("%s: %v, want ErrCorrupt", tt.name, err)
			}
		} else if diff := cmp.Diff(tt.want, string(got)); err != nil || diff != "" {
			t.Errorf("%s: %v %s", tt.name, err, diff)
		}
		if used := allocated() - before; used > 4<<20 {
			t.Errorf("%s: allocated %d bytes", tt.name, used)
		}
	}
}

// TestZstdManySmallBlocks holds the retry with growing room against a frame
// whose blocks promise much more than they hold.
func TestZstdManySmallBlocks(t *testing.T) {
	// Each block: RLE literals of 1 byte and no sequences.
	small := block(2, 3, 0x01|1<<3, 'z', 0)
	var blocks [][]byte
	for range 20_000 {
		blocks = append(blocks, small)
	}
	in := frameOf(0, []byte{7 << 3}, blocks...)
	if got, err := (zstdCodec{}).Decompress(in, 20_000); err != nil || !bytes.Equal(got, bytes.Repeat([]byte{'z'}, 20_000)) {
		t.Fatalf("honest size: %d bytes, %v", len(got), err)
	}
	before := allocated()
	if _, err := (zstdCodec{}).Decompress(in, 20_000*(128<<10)); !errors.Is(err, tensor.ErrCorrupt) && !errors.Is(err, tensor.ErrLimit) {
		t.Errorf("%v, want ErrCorrupt", err)
	}
	if used := allocated() - before; used > 16<<20 {
		t.Errorf("allocated %d bytes for %d", used, len(in))
	}
}

func TestLZ4Blocks(t *testing.T) {
	tests := []struct {
		name string
		in   []byte
		size int64
		want string
		ok   bool
	}{
		{"literals", []byte{0x30, 'a', 'b', 'c'}, 3, "abc", true},
		{"empty", []byte{0}, 0, "", true},
		{"match", []byte{0x11, 'a', 1, 0, 0x50, 'b', 'c', 'd', 'e', 'f'}, 11, "aaaaaabcdef", true},
		{"ends with a match", []byte{0x14, 'a', 1, 0}, 9, "aaaaaaaaa", true},
		{"offset 0", []byte{0x11, 'a', 0, 0, 0x50, 'b', 'c', 'd', 'e', 'f'}, 11, "", false},
		{"offset before the start", []byte{0x11, 'a', 2, 0, 0x50, 'b', 'c', 'd', 'e', 'f'}, 11, "", false},
		{"length without end", []byte{0xF0, 255, 255}, 600, "", false},
		{"ends in offset", []byte{0x11, 'a', 1}, 6, "", false},
	}
	for _, tt := range tests {
		got, err := lz4Codec{}.Decompress(tt.in, tt.size)
		if tt.ok != (err == nil) || string(got) != tt.want {
			t.Errorf("%s: %q, %v", tt.name, got, err)
		}
		if n, err := lz4Size(tt.in); tt.ok != (err == nil) || tt.ok && n != tt.size {
			t.Errorf("%s: size %d, %v", tt.name, n, err)
		}
	}
	src := weights(300_000)
	for level := 1; level <= 9; level++ {
		packed := mustCompress(t, lz4Codec{}, src, level)
		if n, err := lz4Size(packed); err != nil || n != int64(len(src)) {
			t.Errorf("level %d: size %d, %v", level, n, err)
		}
		dst := make([]byte, len(src))
		if n, err := lz4.UncompressBlock(packed, dst); err != nil || n != len(src) {
			t.Errorf("level %d: the library: %d, %v", level, n, err)
		}
	}
}

func TestCallerErrors(t *testing.T) {
	if _, err := Lookup("deflate64"); !errors.Is(err, ErrUnknown) {
		t.Errorf("Lookup: %v, want ErrUnknown", err)
	}
	for _, name := range names {
		c := mustLookup(t, name)
		for _, level := range []int{-1, 10} {
			if _, err := c.Compress(nil, level); !errors.Is(err, ErrLevel) {
				t.Errorf("%s: level %d: %v, want ErrLevel", name, level, err)
			}
			if s, ok := c.(Streamer); ok {
				if _, err := s.NewWriter(io.Discard, level, 0); !errors.Is(err, ErrLevel) {
					t.Errorf("%s: stream, level %d: %v, want ErrLevel", name, level, err)
				}
			}
		}
	}
}

// TestAfterFailure: a decompressor that failed must not spoil the next use.
func TestAfterFailure(t *testing.T) {
	src := weights(10_000)
	for _, name := range names {
		c := mustLookup(t, name)
		good := mustCompress(t, c, src, 1)
		for i := range 20 {
			bad := slices.Clone(good)
			bad[len(bad)*i/20] ^= 0x55
			c.Decompress(bad, int64(len(src)))
			if got, err := c.Decompress(good, int64(len(src))); err != nil || !bytes.Equal(got, src) {
				t.Fatalf("%s: after failure %d: %v", name, i, err)
			}
		}
	}
}

func FuzzGzip(f *testing.F)   { fuzz(f, "gzip") }
func FuzzZstd(f *testing.F)   { fuzz(f, "zstd") }
func FuzzLZ4(f *testing.F)    { fuzz(f, "lz4") }
func FuzzBrotli(f *testing.F) { fuzz(f, "brotli") }

func fuzz(f *testing.F, name string) {
	c := mustLookup(f, name)
	for _, src := range [][]byte{{}, {1}, []byte("abcabcabcabcabcabcabcabc"), make([]byte, 5000), weights(1000)} {
		f.Add(mustCompress(f, c, src, 6), int64(len(src)))
	}
	f.Fuzz(func(t *testing.T, in []byte, size int64) {
		if len(in) > 1<<16 {
			return
		}
		before := allocated()
		got, err := c.Decompress(in, size)
		if err == nil && int64(len(got)) != size {
			t.Fatalf("%d bytes, asked for %d", len(got), size)
		}
		const limit = 1 << 20
		all, maxErr := c.DecompressMax(in, limit)
		if used := allocated() - before; err != nil && used > 64<<20+2*uint64(limit) {
			t.Fatalf("allocated %d bytes for %d", used, len(in))
		}
		if err == nil && size <= limit && (maxErr != nil || !bytes.Equal(all, got)) {
			t.Fatalf("the same without its size: %v", maxErr)
		}
		if maxErr == nil {
			if got, err := c.Decompress(in, int64(len(all))); err != nil || !bytes.Equal(all, got) {
				t.Fatalf("the same with its size %d: %v", len(all), err)
			}
		}
	})
}

// bare decompresses with the library alone, into memory of the right size.
func bare(b *testing.B, name string, in []byte, size int) func() {
	switch name {
	case "zstd":
		z, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1))
		if err != nil {
			b.Fatal(err)
		}
		return func() { _, err = z.DecodeAll(in, make([]byte, 0, size)) }
	case "lz4":
		return func() { lz4.UncompressBlock(in, make([]byte, size)) }
	}
	return bareStream(b, name, in, size)
}

func BenchmarkDecompress(b *testing.B) {
	src := weights(16 << 20)
	for _, name := range names {
		c := mustLookup(b, name)
		for _, level := range []int{1, 6} {
			in := mustCompress(b, c, src, level)
			b.Run(fmt.Sprintf("%s/%d/ours", name, level), func(b *testing.B) {
				b.SetBytes(int64(len(src)))
				for b.Loop() {
					if _, err := c.Decompress(in, int64(len(src))); err != nil {
						b.Fatal(err)
					}
				}
			})
			library := bare(b, name, in, len(src))
			b.Run(fmt.Sprintf("%s/%d/library", name, level), func(b *testing.B) {
				b.SetBytes(int64(len(src)))
				for b.Loop() {
					library()
				}
			})
		}
	}
}

// TestGzipFindsUnevenBytes: the default level makes use of bytes that do not
// repeat but are unevenly distributed, as those of quantised weights are.
func TestGzipFindsUnevenBytes(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 8))
	src := make([]byte, 100_000)
	for i := range src {
		src[i] = byte(int8(max(-127, min(127, r.NormFloat64()*30))))
	}
	if out := mustCompress(t, mustLookup(t, "gzip"), src, 0); len(out) > 93_000 {
		t.Errorf("%d bytes of normal int8 take %d", len(src), len(out))
	}
}
