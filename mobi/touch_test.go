package mobi

import (
	"bytes"
	"errors"
	"testing"

	"github.com/weightmap/weightmap/format"
)

// damaged returns files with a valid structure and a wrong footer: one with an
// aligned constant, one with a misaligned, and one with a compressed constant.
func damaged() map[string][]byte {
	return map[string][]byte{
		"footer": with(func(m *image) { m.spoil = func(b []byte) { b[len(b)-1] ^= 1 } }),
		"data":   with(func(m *image) { m.spoil = func(b []byte) { b[bytes.Index(b, f32s(1, -2))] ^= 1 } }),
		"misaligned": with(func(m *image) {
			m.records[0], m.records[1] = m.records[1], m.records[0]
			m.spoil = func(b []byte) { b[len(b)-1] ^= 1 }
		}),
		"compressed": with(func(m *image) {
			m.records[0] = recordOf(9, 0x8000, []uint64{2}, zipped(f32s(1, -2)))
			m.spoil = func(b []byte) { b[len(b)-1] ^= 1 }
		}),
	}
}

// TestFooterBeforeFirstByte checks that a file with a wrong footer opens but returns
// no byte of its constants.
func TestFooterBeforeFirstByte(t *testing.T) {
	for what, b := range damaged() {
		for _, f := range []*File{openImage(t, b), openRemote(t, b)} {
			v, _ := f.Constant(9)
			_, err := v.Bytes()
			wantError(t, err, format.ErrChecksum, "footer")
			var e *format.Error
			if errors.As(err, &e) && e.Offset != int64(len(b)-4) {
				t.Errorf("%s: the error names offset %d, the footer is at %d", what, e.Offset, len(b)-4)
			}
		}
	}
}
