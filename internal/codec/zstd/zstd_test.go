package zstd

import (
	"bytes"
	"errors"
	"runtime"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weightmap/weightmap/internal/codec"
	"github.com/weightmap/weightmap/tensor"
)

func allocated() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.TotalAlloc
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

func TestFrames(t *testing.T) {
	abc := block(0, 3, 'a', 'b', 'c')
	good := frameOf(0x20, []byte{3}, abc)
	skippable := []byte{0x50, 0x2A, 0x4D, 0x18, 2, 0, 0, 0, 9, 9}
	huge := frameOf(0xC0, []byte{0xF8, 0, 0, 0, 0, 1, 0, 0, 0}, block(2, 2, 0x01, 0x00))
	for _, tt := range []struct {
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
	} {
		before := allocated()
		got, err := codec.Data(Codec, tt.in, tt.size, nil)
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

// TestManySmallBlocks decompresses a frame whose block headers promise far more than the blocks
// contain, which makes the decompressor retry with more room.
func TestManySmallBlocks(t *testing.T) {
	// Each block: RLE literals of 1 byte and no sequences.
	small := block(2, 3, 0x01|1<<3, 'z', 0)
	var blocks [][]byte
	for range 20_000 {
		blocks = append(blocks, small)
	}
	in := frameOf(0, []byte{7 << 3}, blocks...)
	if got, err := codec.Data(Codec, in, 20_000, nil); err != nil || !bytes.Equal(got, bytes.Repeat([]byte{'z'}, 20_000)) {
		t.Fatalf("honest size: %d bytes, %v", len(got), err)
	}
	before := allocated()
	if _, err := codec.Data(Codec, in, 20_000*(128<<10), nil); !errors.Is(err, tensor.ErrCorrupt) && !errors.Is(err, tensor.ErrLimit) {
		t.Errorf("%v, want ErrCorrupt", err)
	}
	if used := allocated() - before; used > 16<<20 {
		t.Errorf("allocated %d bytes for %d", used, len(in))
	}
}
