package lz4

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/pierrec/lz4/v4"
)

func TestBlocks(t *testing.T) {
	for _, tt := range []struct {
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
		{"match length without end", []byte{0x1F, 'a', 1, 0, 255}, 600, "", false},
		{"ends in offset", []byte{0x11, 'a', 1}, 6, "", false},
	} {
		got := make([]byte, tt.size)
		err := Codec.DecodeInto(got, tt.in)
		if err != nil {
			got = nil
		}
		if tt.ok != (err == nil) || string(got) != tt.want {
			t.Errorf("%s: %q, %v", tt.name, got, err)
		}
		var out bytes.Buffer
		if err := Codec.DecodeTo(&out, tt.in, tt.size); tt.ok != (err == nil) || tt.ok && out.String() != tt.want {
			t.Errorf("%s: expanded to %q, %v", tt.name, &out, err)
		}
	}
	src := make([]byte, 300_000)
	r := rand.New(rand.NewPCG(1, 2))
	for i := range src {
		src[i] = byte(r.IntN(20))
	}
	for level := 1; level <= 9; level++ {
		packed, err := Codec.Compress(src, level)
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		if err := Codec.DecodeTo(&out, packed, int64(len(src))); err != nil || !bytes.Equal(out.Bytes(), src) {
			t.Errorf("level %d: expanded to %d bytes, %v", level, out.Len(), err)
		}
		dst := make([]byte, len(src))
		if n, err := lz4.UncompressBlock(packed, dst); err != nil || n != len(src) {
			t.Errorf("level %d: the library: %d, %v", level, n, err)
		}
	}
}
