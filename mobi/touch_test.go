package mobi

import (
	"bytes"
	"errors"
	"io"
	"sync/atomic"
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

// TestCheckAll checks that CheckAll checks the footer on open.
func TestCheckAll(t *testing.T) {
	for what, b := range damaged() {
		_, err := OpenBytes(b, &format.Options{Check: format.CheckAll})
		wantError(t, err, format.ErrChecksum, "footer")
		if err := ValidateBytes(b); !errors.Is(err, format.ErrChecksum) {
			t.Errorf("%s: ValidateBytes: %v", what, err)
		}
	}
	src := &counted{b: small().bytes()}
	f, err := OpenReaderAt(src, int64(len(src.b)), &format.Options{Check: format.CheckAll})
	if err != nil {
		t.Fatal(err)
	}
	src.bytes = 0
	v, _ := f.Constant(9)
	if _, err := v.Bytes(); err != nil || src.bytes != 8 {
		t.Errorf("the first use after CheckAll reads %d bytes, %v", src.bytes, err)
	}
}

// TestVerdictForAll checks that the first use finds a wrong footer once for all constants.
func TestVerdictForAll(t *testing.T) {
	b := damaged()["footer"]
	src := &tally{ReaderAt: bytes.NewReader(b)}
	f, err := OpenReaderAt(src, int64(len(b)), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	_, err = f.At(0).Bytes()
	wantError(t, err, format.ErrChecksum, "footer")
	src.n.Store(0)
	for _, v := range f.Tensors() {
		_, err := v.Bytes()
		wantError(t, err, format.ErrChecksum, "footer")
	}
	if n := src.n.Load(); n != 0 {
		t.Errorf("%d bytes are read to refuse the others", n)
	}
}

// tally is an io.ReaderAt that counts the bytes read, for several goroutines.
type tally struct {
	io.ReaderAt
	n atomic.Int64
}

func (c *tally) ReadAt(p []byte, off int64) (int, error) {
	n, err := c.ReaderAt.ReadAt(p, off)
	c.n.Add(int64(n))
	return n, err
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

// TestReplacedBeforeFirstUse checks that a file replaced by another valid file of the
// same size is detected on first use.
func TestReplacedBeforeFirstUse(t *testing.T) {
	for _, use := range []func(f *File) error{
		func(f *File) error { _, err := f.At(0).Bytes(); return err },
		func(f *File) error { return verify(t, f) },
	} {
		src := &shifting{b: small().bytes()}
		f, err := OpenReaderAt(src, int64(len(src.b)), nil)
		if err != nil {
			t.Fatal(err)
		}
		src.b = with(func(m *image) { m.records[0], m.records[1] = m.records[1], m.records[0] })
		wantError(t, use(f), format.ErrCorrupt, "header")
		f.Close()
	}
}
