package all_test

import (
	"bytes"
	"io"
	"sync/atomic"
	"testing"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/tensor"
)

// countedReader counts the bytes that are read.
type countedReader struct {
	io.ReaderAt
	n atomic.Int64
}

func (c *countedReader) ReadAt(p []byte, off int64) (int, error) {
	c.n.Add(int64(len(p)))
	return c.ReaderAt.ReadAt(p, off)
}

// TestLoadOnce: Load reads a file once to load all tensors and to compare their checksums, be it
// one of the whole file or one of each tensor. A wrong byte anywhere in a tensor is found.
func TestLoadOnce(t *testing.T) {
	const sizes = 3
	for _, name := range []string{"mobi", "mle", "mag", "npz"} {
		p := &schema.Schema{}
		for i := range sizes {
			p.Tensors = append(p.Tensors, list(tensor.Float32, string(rune('1'+i)), int64(1+i*200_000)))
		}
		f, err := format.ByName(name)
		expect.OK(t, err)
		var file bytes.Buffer
		w, err := format.NewWriter(&file, p, &format.WriteOptions{Format: f})
		expect.OK(t, err)
		for i, x := range p.Tensors {
			expect.OK(t, w.WriteTensor(x.Name, bytes.NewReader(bytes.Repeat([]byte{byte(i + 1)}, int(4*x.Shape[0])))))
		}
		expect.OK(t, w.Close())
		for _, isBad := range []bool{false, true} {
			data := bytes.Clone(file.Bytes())
			if isBad {
				data[len(data)/2]++
			}
			r := &countedReader{ReaderAt: bytes.NewReader(data)}
			m, err := format.OpenReaderAt(r, int64(len(data)), &format.Options{Check: format.CheckTouch})
			expect.OK(t, err)
			var requests []format.Request
			for _, v := range m.Tensors() {
				requests = append(requests, format.Request{Tensor: v.Name(), Bytes: make([]byte, v.Size())})
			}
			r.n.Store(0)
			err = m.Load(t.Context(), requests, nil)
			if isBad {
				expect.Refused(t, format.ErrChecksum, name)(nil, err)
			} else {
				expect.OK(t, err)
			}
			// The structure is read again to compare it with what was parsed.
			if most := int64(len(data) + len(data)/100); r.n.Load() > most {
				t.Errorf("%s: %d bytes were read of %d", name, r.n.Load(), len(data))
			}
			m.Close()
		}
	}
}
