package codec_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	peer "github.com/andybalholm/brotli"
	"github.com/weightmap/weightmap/internal/codec"
	"github.com/weightmap/weightmap/internal/codec/brotli"
	"github.com/weightmap/weightmap/internal/codec/gzip"
	"github.com/weightmap/weightmap/internal/codec/lz4"
	"github.com/weightmap/weightmap/internal/codec/zstd"
	"github.com/weightmap/weightmap/internal/memory"
	_ "github.com/weightmap/weightmap/mle/brotli"
	"github.com/weightmap/weightmap/tensor"
)

// compressor is what the codecs of this test have.
type compressor interface {
	codec.Codec
	Compress(src []byte, level int) ([]byte, error)
}

var codecs = map[string]compressor{
	"brotli": brotli.Codec, "gzip": gzip.Codec, "lz4": lz4.Codec, "zstd": zstd.Codec,
}

func decompress(c compressor, src []byte, size int64) ([]byte, error) {
	return codec.Data(c, src, size, nil)
}

// decompressMax is Section for any size.
func decompressMax(s *codec.Stream, src []byte, most int64) ([]byte, error) {
	return codec.Section(s, src, -1, most, nil)
}

func mustCompress(t testing.TB, c compressor, src []byte, level int) []byte {
	t.Helper()
	out, err := c.Compress(src, level)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// weights returns floats similar to those of a trained model, rounded so that they compress a
// little.
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
	for name, c := range codecs {
		if s, ok := c.(*codec.Stream); ok && s.Name != name {
			t.Errorf("Name = %q, want %q", s.Name, name)
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
				got, err := decompress(c, packed, int64(len(src)))
				if err != nil || !bytes.Equal(got, src) {
					t.Errorf("%s/%s/%d: %v", name, label, level, err)
					continue
				}
				if cap(got) > 0 && len(got) > 0 && memory.Address(got)%64 != 0 {
					t.Errorf("%s/%s/%d: misaligned", name, label, level)
				}
				into := make([]byte, len(src))
				if err := codec.DataInto(into, c, packed, nil); err != nil || !bytes.Equal(into, src) {
					t.Errorf("%s/%s/%d into: %v", name, label, level, err)
				}
				var out bytes.Buffer
				if err := codec.DataTo(&out, c, packed, int64(len(src)), nil); err != nil || !bytes.Equal(out.Bytes(), src) {
					t.Errorf("%s/%s/%d expanded: %v", name, label, level, err)
				}
				s, ok := c.(*codec.Stream)
				for _, limit := range []int64{int64(len(src)), int64(len(src)) + 1, 1 << 30} {
					if !ok {
						break
					}
					got, err := decompressMax(s, packed, limit)
					if err != nil || !bytes.Equal(got, src) {
						t.Errorf("%s/%s/%d max %d: %v", name, label, level, limit, err)
					}
				}
			}
		}
	}
}

// TestStreaming checks that the sizes of writes do not affect the output.
func TestStreaming(t *testing.T) {
	src := weights(300_001)
	for _, name := range []string{"brotli", "gzip", "zstd"} {
		s := codecs[name].(*codec.Stream)
		want := mustCompress(t, s, src, 3)
		for _, piece := range []int{13, 1000, 256 << 10} {
			var out bytes.Buffer
			w, err := s.NewWriter(&out, 3, int64(len(src)))
			for p := range slices.Chunk(src, piece) {
				if err == nil {
					_, err = w.Write(p)
				}
			}
			if err == nil {
				err = w.Close()
			}
			if err != nil || !bytes.Equal(want, out.Bytes()) {
				t.Errorf("%s: writes of %d bytes give other bytes, %v", name, piece, err)
			}
		}
	}
}

func TestNotExactly(t *testing.T) {
	src := weights(20_000)
	for name, c := range codecs {
		good := mustCompress(t, c, src, 6)
		size := int64(len(src))
		for _, tt := range []struct {
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
		} {
			before := allocated()
			_, err := decompress(c, tt.in, tt.size)
			if !errors.Is(err, tensor.ErrCorrupt) && !(math.MaxInt == math.MaxInt32 && errors.Is(err, tensor.ErrLimit)) {
				t.Errorf("%s: %s: %v, want ErrCorrupt", name, tt.name, err)
			}
			if err := codec.DataTo(io.Discard, c, tt.in, tt.size, nil); !errors.Is(err, tensor.ErrCorrupt) && !(math.MaxInt == math.MaxInt32 && errors.Is(err, tensor.ErrLimit)) {
				t.Errorf("%s: %s: expanded: %v, want ErrCorrupt", name, tt.name, err)
			}
			if tt.size >= 0 && tt.size <= 20*size {
				if err := codec.DataInto(make([]byte, tt.size), c, tt.in, nil); !errors.Is(err, tensor.ErrCorrupt) {
					t.Errorf("%s: %s: into: %v, want ErrCorrupt", name, tt.name, err)
				}
			}
			if used := allocated() - before; used > 8<<20 {
				t.Errorf("%s: %s: allocated %d bytes", name, tt.name, used)
			}
		}
		s, streams := c.(*codec.Stream)
		if streams {
			if _, err := decompressMax(s, good, size-1); !errors.Is(err, tensor.ErrLimit) {
				t.Errorf("%s: limit one less: %v, want ErrLimit", name, err)
			}
		}
		for n := range len(good) {
			if n > 300 && n < len(good)-20 {
				continue
			}
			if _, err := decompress(c, good[:n], size); !errors.Is(err, tensor.ErrCorrupt) {
				t.Fatalf("%s: cut to %d: %v", name, n, err)
			}
			if streams {
				if _, err := decompressMax(s, good[:n], size); err == nil {
					t.Fatalf("%s: max, cut to %d: no error", name, n)
				}
			}
		}
	}
}

func allocated() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.TotalAlloc
}

// TestBombs checks that memory is not allocated for a size that a small stream only claims.
func TestBombs(t *testing.T) {
	const real = 8 << 20
	for name, c := range codecs {
		bomb := mustCompress(t, c, make([]byte, real), 6)
		t.Logf("%s: %d bytes hold %d", name, len(bomb), real)
		for _, claim := range []int64{1 << 30, 1<<31 - 1<<16, 1 << 36} {
			before := allocated()
			if _, err := decompress(c, bomb, claim); err == nil {
				t.Errorf("%s: %d bytes claimed: no error", name, claim)
			}
			if used := allocated() - before; used > 6*real+40<<20 {
				t.Errorf("%s: %d claimed, %d there, allocated %d", name, claim, real, used)
			}
		}
		before := allocated()
		if s, ok := c.(*codec.Stream); ok {
			if _, err := decompressMax(s, bomb, 1<<16); !errors.Is(err, tensor.ErrLimit) {
				t.Errorf("%s: limit: %v, want ErrLimit", name, err)
			}
		}
		if _, err := decompress(c, bomb, 1<<16); !errors.Is(err, tensor.ErrCorrupt) {
			t.Errorf("%s: less claimed: %v, want ErrCorrupt", name, err)
		}
		if used := allocated() - before; used > 40<<20 { // brotli's window is 16 MiB
			t.Errorf("%s: limit 64 KiB, allocated %d", name, used)
		}
		if got, err := decompress(c, bomb, real); err != nil || len(got) != real {
			t.Errorf("%s: honest size: %v", name, err)
		}
	}
}

func TestCallerErrors(t *testing.T) {
	for name, c := range codecs {
		for _, level := range []int{-1, 10} {
			if _, err := c.Compress(nil, level); !errors.Is(err, codec.ErrLevel) {
				t.Errorf("%s: level %d: %v, want ErrLevel", name, level, err)
			}
			if s, ok := c.(*codec.Stream); ok {
				if _, err := s.NewWriter(io.Discard, level, 0); !errors.Is(err, codec.ErrLevel) {
					t.Errorf("%s: stream, level %d: %v, want ErrLevel", name, level, err)
				}
				if _, err := decompressMax(s, nil, int64(-level*level)); err == nil {
					t.Errorf("%s: negative limit: no error", name)
				}
			}
		}
	}
}

// full is a writer that fails after left bytes.
type full struct{ left int }

var errFull = errors.New("full")

func (f *full) Write(p []byte) (int, error) {
	if f.left -= len(p); f.left < 0 {
		return 0, errFull
	}
	return len(p), nil
}

// TestDataToHoldsLittle checks that DataTo does not hold the whole content, and that it returns the
// writer's error unchanged.
func TestDataToHoldsLittle(t *testing.T) {
	const size = 32 << 20
	for name, c := range codecs {
		packed := mustCompress(t, c, make([]byte, size), 1)
		if err := codec.DataTo(io.Discard, c, packed, size, nil); err != nil {
			t.Fatal(err)
		}
		before := allocated()
		if err := codec.DataTo(&full{size}, c, packed, size, nil); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if used := int64(allocated() - before); used > c.Window(packed)+1<<20 {
			t.Errorf("%s: %d bytes for a window of %d", name, used, c.Window(packed))
		}
		if err := codec.DataTo(&full{size / 2}, c, packed, size, nil); !errors.Is(err, errFull) || errors.Is(err, tensor.ErrCorrupt) {
			t.Errorf("%s: %v, want that of the writer", name, err)
		}
	}
}

func FuzzGzip(f *testing.F)   { fuzz(f, "gzip") }
func FuzzZstd(f *testing.F)   { fuzz(f, "zstd") }
func FuzzLZ4(f *testing.F)    { fuzz(f, "lz4") }
func FuzzBrotli(f *testing.F) { fuzz(f, "brotli") }

func fuzz(f *testing.F, name string) {
	c := codecs[name]
	for _, src := range [][]byte{{}, {1}, []byte("abcabcabcabcabcabcabcabc"), make([]byte, 5000), weights(1000)} {
		f.Add(mustCompress(f, c, src, 6), int64(len(src)))
	}
	f.Fuzz(func(t *testing.T, in []byte, size int64) {
		const limit = 1 << 20
		if len(in) > 1<<16 {
			return
		}
		before := allocated()
		got, err := decompress(c, in, size)
		if err == nil && int64(len(got)) != size {
			t.Fatalf("%d bytes, asked for %d", len(got), size)
		}
		if used := allocated() - before; err != nil && used > 64<<20 {
			t.Fatalf("allocated %d bytes for %d", used, len(in))
		}
		var out bytes.Buffer
		if err == nil && (codec.DataTo(&out, c, in, size, nil) != nil || !bytes.Equal(out.Bytes(), got)) {
			t.Fatal("other bytes piece by piece")
		}
		if s, ok := c.(*codec.Stream); ok && size <= limit {
			all, maxErr := decompressMax(s, in, limit)
			if err == nil && (maxErr != nil || !bytes.Equal(all, got)) {
				t.Fatalf("the same without its size: %v", maxErr)
			}
		}
	})
}

// FuzzBrotliPeer compares the Brotli decoder with another one: both must accept the same streams
// and return the same bytes.
func FuzzBrotliPeer(f *testing.F) {
	for _, src := range inputs() {
		for _, level := range []int{1, 6, 9} {
			if len(src) < 2000 || level == 1 {
				f.Add(mustCompress(f, brotli.Codec, src, level))
			}
		}
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		const limit = 1 << 20
		got, err := decompressMax(brotli.Codec, in, limit)
		r := bytes.NewReader(in)
		z := peer.NewReader(r)
		want, peerErr := io.ReadAll(io.LimitReader(z, limit+1))
		if len(want) > limit {
			return
		}
		if peerErr == nil && r.Len() > 0 {
			peerErr = io.ErrNoProgress // it accepts trailing bytes
		}
		if (err == nil) != (peerErr == nil) {
			t.Fatalf("%v, the peer: %v", err, peerErr)
		}
		if err == nil && !bytes.Equal(got, want) {
			t.Fatalf("%d bytes, the peer has %d others", len(got), len(want))
		}
	})
}
