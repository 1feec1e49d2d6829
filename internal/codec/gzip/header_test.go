package gzip

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weightmap/weightmap/tensor"
)

// TestGzipHeaders reads every optional field of RFC 1952 with any length, and refuses malformed
// ones.
func TestGzipHeaders(t *testing.T) {
	want := []byte("weights, weights, weights")
	plain, err := Codec.Compress(want, 6)
	if err != nil {
		t.Fatal(err)
	}
	body := plain[10:] // the writer sets no optional field
	header := func(flags byte, fields ...string) string {
		return string([]byte{0x1F, 0x8B, 8, flags, 1, 2, 3, 4, 0, 255}) + strings.Join(fields, "")
	}
	sum := func(header string) string {
		return string(binary.LittleEndian.AppendUint16(nil, uint16(crc32.ChecksumIEEE([]byte(header)))))
	}
	extra := "\x05\x00ab\x00cd"
	long := strings.Repeat("n", 100_000) + "\x00"
	all := header(hasHeaderCRC|hasExtra|hasName|hasComment, extra, long, long)
	tests := []struct {
		name, header string
		ok           bool
	}{
		{"none", header(0), true},
		{"text hint", header(1), true},
		{"short name", header(hasName, "a\x00"), true},
		{"empty name", header(hasName, "\x00"), true},
		{"long name", header(hasName, long), true},
		{"long comment", header(hasComment, long), true},
		{"name and comment", header(hasName|hasComment, long, "c\x00"), true},
		{"extra", header(hasExtra, extra), true},
		{"extra and name", header(hasExtra|hasName, extra, long), true},
		{"all", all + sum(all), true},
		{"wrong header sum", all + "xx", false},
		{"name without end", header(hasName, "n"), false},
		{"reserved flag with a name", header(hasName|0x20, "n\x00"), false},
		{"wrong method with a name", "\x1F\x8B\x07" + header(hasName, "n\x00")[3:], false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			src := append([]byte(tt.header), body...)
			if tt.name == "name without end" {
				src = []byte(tt.header)
			}
			got, err := Codec.Decompress(src, int64(len(want)))
			if !tt.ok {
				if !errors.Is(err, tensor.ErrCorrupt) {
					t.Fatalf("err = %v, want ErrCorrupt", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if got, err := Codec.DecompressMax(src, 1000); err != nil || !bytes.Equal(want, got) || Codec.Window(src) == 0 {
				t.Errorf("without its size: %v", err)
			}
			if _, err := Codec.Decompress(append(bytes.Clone(src), 0), int64(len(want))); !errors.Is(err, tensor.ErrCorrupt) {
				t.Errorf("a byte after the member: %v, want ErrCorrupt", err)
			}
		})
	}
	for n := range len(all) {
		if n > 40 && n < len(all)-40 && n%1000 != 0 {
			continue
		}
		if _, err := Codec.Decompress([]byte(all[:n]), 1); !errors.Is(err, tensor.ErrCorrupt) {
			t.Errorf("cut at %d: %v, want ErrCorrupt", n, err)
		}
	}
}
