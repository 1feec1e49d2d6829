package zip

import (
	"errors"
	"testing"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/expect"
)

// content is a source that holds an entry from offset 0 on.
type content struct {
	driver.Source
	b []byte
}

// Slice implements driver.Source.
func (c content) Slice(off, n int64) ([]byte, error) { return c.b[off : off+n], nil }

// TestStructureLimit: structure that is stored as it is has at most as many bytes as the caller allows.
func TestStructureLimit(t *testing.T) {
	e := Entry{File: &File{Src: content{b: []byte("structure")}}, Stored: 9, Size: 9}
	memory := driver.NewMemory(100)
	b, err := e.Structure(9, memory)
	expect.OK(t, err)
	expect.Equal(t, "structure", string(b))
	expect.Equal(t, int64(91), memory.Left())
	_, err = e.Structure(8, memory)
	if !errors.Is(err, format.ErrLimit) {
		t.Errorf("%v, want %v", err, format.ErrLimit)
	}
	expect.Equal(t, int64(91), memory.Left())
}

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
