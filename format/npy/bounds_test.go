package npy

import (
	"encoding/binary"
	"errors"
	"fmt"
	"testing"

	"github.com/weightmap/weightmap/format"
)

// TestWiden: the zip64 field of an entry has what the entry leaves to it, and no more.
func TestWiden(t *testing.T) {
	le := binary.LittleEndian
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
			err := widen(tt.x, []*uint64{&tt.size}, &tt.disk)
			if tt.refused != errors.Is(err, format.ErrCorrupt) || err == nil && tt.size != tt.want {
				t.Errorf("%v, size %d", err, tt.size)
			}
		})
	}
}

// TestDirectoryLimit: a directory larger than the limit is refused as such, before
// any entry is read.
func TestDirectoryLimit(t *testing.T) {
	var e *format.Error
	_, err := archiveCodec.OpenBytes(pair().bytes(), &format.Options{MaxHeaderBytes: 100})
	if !errors.Is(err, format.ErrLimit) || !errors.As(err, &e) || e.Field != "directory" {
		t.Errorf("%v, want %v of the directory, which has 102 bytes", err, format.ErrLimit)
	}
}

// TestBytesBehindFullBuffer: what follows a deflated array is found, also when the
// array ends where a buffer does.
func TestBytesBehindFullBuffer(t *testing.T) {
	const blocks, most = 4, 64 << 10
	data := make([]byte, most-5*blocks-128)
	raw := npy(dict("|u1", "False", fmt.Sprintf("(%d,)", len(data))), data).bytes()
	y := stored1("y", raw)
	y.method, y.data = deflated, nil
	for i := range blocks {
		n := len(raw) / blocks
		last := byte(i / (blocks - 1))
		y.data = append(y.data, last, byte(n), byte(n>>8), ^byte(n), ^byte(n>>8))
		y.data = append(y.data, raw[i*n:][:n]...)
	}
	if len(raw)%blocks != 0 || len(y.data) != most {
		t.Fatalf("%d bytes in %d", len(raw), len(y.data))
	}
	for behind, want := range []error{nil, format.ErrCorrupt} {
		m := y
		m.data = append(m.data, make([]byte, behind)...)
		m.packed = uint32(len(m.data))
		f, err := OpenBytes(archiveOf(m).bytes(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.At(0).Bytes(); !errors.Is(err, want) {
			t.Errorf("%d bytes behind: %v, want %v", behind, err, want)
		}
		f.Close()
	}
}
