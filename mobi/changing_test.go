package mobi_test

import (
	"bytes"
	"testing"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/mobi"
	"github.com/weightmap/weightmap/tensor"
)

// swapping is a file whose bytes are others from a read on.
type swapping struct {
	before, after []byte
	reads, at     int
}

func (s *swapping) ReadAt(p []byte, off int64) (int, error) {
	s.reads++
	if s.reads > s.at {
		return bytes.NewReader(s.after).ReadAt(p, off)
	}
	return bytes.NewReader(s.before).ReadAt(p, off)
}

// TestRankChanges: a record whose number of dims changes while it is read, so that the rest of the
// section has room for it or not, is refused or read, and never panics.
func TestRankChanges(t *testing.T) {
	const elems = 250 // so that the section is larger than the first piece that is read
	weight, err := tensor.Of("0", tensor.Shape{elems}, make([]float32, elems))
	expect.OK(t, err)
	var file bytes.Buffer
	expect.OK(t, format.Write(t.Context(), &file, nil, []tensor.View{weight}, &format.WriteOptions{Format: mobi.Format{}}))
	good := file.Bytes()
	m, err := format.OpenBytes(good, nil)
	expect.OK(t, err)
	rankAt := m.At(0).Info().Offset - 8 - 8 - 2 // before it, the size and one dim
	expect.OK(t, m.Close())
	bad := bytes.Clone(good)
	bad[rankAt] = 200
	for _, files := range [][2][]byte{{good, bad}, {bad, good}} {
		for at := range 20 {
			r := &swapping{before: files[0], after: files[1], at: at}
			m, err := format.OpenReaderAt(r, int64(len(good)), nil)
			if err != nil {
				continue
			}
			expect.Equal(t, 1, m.Len())
			expect.Equal(t, tensor.Shape{elems}, m.At(0).Shape())
			expect.OK(t, m.Close())
		}
	}
}
