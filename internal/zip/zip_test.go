package zip

import (
	"errors"
	"testing"

	"github.com/weightmap/weightmap/format"
)

// TestWiden: the zip64 field of an entry has what the entry leaves to it, and no more.
func TestWiden(t *testing.T) {
	value := func(n uint64) []byte { return le.AppendUint64(nil, n) }
	for _, tt := range []struct {
		name    string
		x       []byte
		size    uint64
		disk    uint64
		refused bool
		want    uint64
	}{
		{"a value", value(5), wide32, 0, false, 5},
		{"a value that is not needed", value(5), 5, 0, false, 5},
		{"another value", value(5), 6, 0, true, 0},
		{"the same disk", le.AppendUint32(value(5), 0), wide32, 0, false, 5},
		{"a disk that is left to it", le.AppendUint32(value(5), 1), wide32, wide16, false, 5},
		{"another disk", le.AppendUint32(value(5), 1), wide32, 0, true, 0},
		{"three bytes more", append(value(5), 1, 2, 3), wide32, 0, true, 0},
		{"half a value", value(5)[:4], wide32, 0, true, 0},
		{"no value", []byte{}, wide32, 0, true, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			extra := le.AppendUint16(le.AppendUint16(nil, extraZip64), uint16(len(tt.x)))
			err := widen(append(extra, tt.x...), []*uint64{&tt.size}, &tt.disk)
			if tt.refused != errors.Is(err, format.ErrCorrupt) || err == nil && tt.size != tt.want {
				t.Errorf("%v, size %d", err, tt.size)
			}
		})
	}
}
