package all_test

import (
	"bytes"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/gguf"
	"github.com/weightmap/weightmap/format/npy"
	"github.com/weightmap/weightmap/format/safetensors"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/internal/testhost"
	"github.com/weightmap/weightmap/mag"
	"github.com/weightmap/weightmap/tensor"
	"github.com/weightmap/weightmap/tsr"
)

// The large files are sparse. They have a tensor of 5 GiB of which the last bytes are 1 to 16,
// and, where a file may have two, one of four bytes behind it, all 9.
const largeBytes = 5 << 30

var (
	largeShape = tensor.Shape{5, 1024, 1024, 1024}
	largeEnd   = []byte{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}
	largeTail  = []byte{9, 9, 9, 9}
)

// largeFile is the structure of a file, up to its data. The two tensors follow each other.
type largeFile struct {
	name string
	head []byte
	tail bool
}

// largeFiles are of those formats that write the structure first.
func largeFiles(t *testing.T) (all []largeFile) {
	for name, f := range map[string]format.Format{
		"mag": mag.Format{NoDigests: true}, "tsr": tsr.Format{}, "safetensors": safetensors.Format{}, "gguf": gguf.Format{}, "npy": npy.Format{},
	} {
		l := largeFile{name: "big." + name, tail: name != "tsr" && name != "npy"}
		p := &schema.Schema{Tensors: []tensor.Info{list(tensor.Int8, "big", largeShape...)}}
		if l.tail {
			p.Tensors = append(p.Tensors, list(tensor.Int8, "tail", 4))
		}
		var out bytes.Buffer
		w, err := format.NewWriter(&out, p, &format.WriteOptions{Format: f, Spool: format.SpoolNever, Extended: name == "mag"})
		expect.OK(t, err)
		if err := w.WriteTensor("big", strings.NewReader("x")); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Fatal(err)
		}
		l.head = bytes.TrimSuffix(out.Bytes(), []byte("x"))
		all = append(all, l)
	}
	return all
}

// write makes the file, which takes some kilobytes of the disk.
func (l *largeFile) write(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), l.name)
	f, err := os.Create(path)
	expect.OK(t, err)
	defer f.Close()
	size := int64(len(l.head)) + largeBytes
	if err := f.Truncate(size); err != nil {
		t.Skip("no sparse files here: ", err)
	}
	_, headErr := f.WriteAt(l.head, 0)
	_, endErr := f.WriteAt(largeEnd, size-int64(len(largeEnd)))
	expect.OK(t, errors.Join(headErr, endErr))
	if l.tail {
		_, err = f.WriteAt(largeTail, size)
		expect.OK(t, err)
	}
	return path
}

// TestLargeFiles: files of 5 GiB open and read everywhere: mapped, or on demand where addresses have
// 32 bits and where that is asked for. What takes more memory than can be
// addressed is ErrLimit there, and nothing takes more than what is asked for.
func TestLargeFiles(t *testing.T) {
	if runtime.GOOS == "windows" || runtime.GOARCH == "wasm" {
		t.Skip("no sparse files here")
	}
	for _, l := range largeFiles(t) {
		path := l.write(t)
		t.Run(l.name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			m := open(t, path, nil)
			l.look(t, m, math.MaxInt == math.MaxInt32 || !testhost.Maps())
			runtime.ReadMemStats(&after)
			if n := after.TotalAlloc - before.TotalAlloc; n > 4<<20 {
				t.Errorf("%d bytes were allocated", n)
			}
		})
	}
}

// look reads here and there of a large model.
func (l *largeFile) look(t *testing.T, m *format.Model, demand bool) {
	t.Helper()
	s, total := m.Stats(), int64(len(l.head))+largeBytes
	if l.tail {
		total += int64(len(largeTail))
	}
	if s.FileSize != total || s.Heap != 0 || demand != (s.OnDemand == total) || demand == (s.Mapped == total) {
		t.Errorf("%+v", s)
	}
	v := m.At(0)
	end := make([]byte, len(largeEnd))
	if _, err := v.ReadAt(end, largeBytes-int64(len(end))); err != nil || !bytes.Equal(end, largeEnd) {
		t.Errorf("the end: %v, %v", end, err)
	}
	row := func(want []byte, ranges ...tensor.Range) {
		t.Helper()
		part, err := v.Slice(ranges...)
		if err != nil {
			t.Error(err)
			return
		}
		if b, err := part.Bytes(); err != nil || !bytes.Equal(b, want) {
			t.Errorf("%v: %v, %v", ranges, b, err)
		}
	}
	at := tensor.At
	row(largeEnd, at(4), at(1023), at(1023), tensor.Range{From: 1008, To: 1024})
	row([]byte{0, 0, 0, 0, 16}, tensor.Range{To: tensor.End}, at(1023), at(1023), at(1023))
	if l.tail {
		tail, err := m.Tensor("tail")
		expect.OK(t, err)
		if b, err := tail.Bytes(); err != nil || !bytes.Equal(b, largeTail) {
			t.Errorf("tail: %v, %v", b, err)
		}
		if _, err := m.Verify(t.Context(), &format.VerifyOptions{Tensors: []string{"tail"}}); err != nil {
			t.Error(err)
		}
	}
	if math.MaxInt != math.MaxInt32 {
		return
	}
	for what, f := range map[string]func() error{
		"Bytes":                           func() error { _, err := v.Bytes(); return err },
		"Clone":                           func() error { _, err := v.Clone(); return err },
		"Digest":                          func() error { _, err := v.Digest(); return err },
		"Decode":                          func() error { _, err := tensor.Decode[float32](nil, v); return err },
		"a part that is not in one piece": func() error { _, err := v.Slice(tensor.Range{To: tensor.End}, tensor.Range{To: 512}); return err },
		"a part in one piece": func() error {
			part, err := v.Slice(tensor.Range{To: 3})
			if err == nil {
				_, err = part.Bytes()
			}
			return err
		},
	} {
		if err := f(); !errors.Is(err, format.ErrLimit) {
			t.Errorf("%s: %v", what, err)
		}
	}
}
