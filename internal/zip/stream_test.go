package zip_test

import (
	stdzip "archive/zip"
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/npy"
	"github.com/weightmap/weightmap/internal/expect"
)

// TestStreamCompares: the checksum of a deflated entry is compared while it is inflated piece by piece, and both places that
// record it must agree.
func TestStreamCompares(t *testing.T) {
	header := "{'descr': '<f4', 'fortran_order': False, 'shape': (1000,), }"
	array := fmt.Sprintf("\x93NUMPY\x01\x00\x76\x00%-117s\n%s", header, strings.Repeat("abcd", 1000))
	const (
		inDirectory = "PK\x01\x02"
		behindData  = "PK\x07\x08"
	)
	offset := map[string]int{inDirectory: 16, behindData: 4}
	for _, tt := range []struct {
		name    string
		damaged []string
		want    error
		text    string
	}{
		{"intact", nil, nil, ""},
		{"one place", []string{inDirectory}, format.ErrChecksum, ""},
		{"the other place", []string{behindData}, format.ErrChecksum, ""},
		{"both", []string{inDirectory, behindData}, format.ErrChecksum, "the archive records crc32"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := archive(t, member{"w.npy", array, stdzip.Deflate, true})
			for _, magic := range tt.damaged {
				b[bytes.Index(b, []byte(magic))+offset[magic]] ^= 1
			}
			m, err := format.OpenBytes(b, &format.Options{Format: npy.Archive{}})
			expect.OK(t, err)
			defer m.Close()
			requests := []format.Request{{Tensor: "w"}}
			err = m.Stream(t.Context(), requests, nil, func(format.Piece) error { return nil })
			if !errors.Is(err, tt.want) || err != nil && !strings.Contains(err.Error(), tt.text) {
				t.Errorf("%v, want %v with %q", err, tt.want, tt.text)
			}
		})
	}
}
