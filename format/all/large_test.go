package all

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/testhost"
	"github.com/weightmap/weightmap/internal/wire"
	"github.com/weightmap/weightmap/tensor"
)

// The large files are sparse. They have a tensor of 5 GiB of which the last bytes are 1 to 16,
// and, where a file may have two, one of four bytes behind it, all 9.
const largeBytes = 5 << 30

var (
	largeShape = tensor.Shape{5, 1024, 1024, 1024}
	largeEnd   = []byte{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}
	largeTail  = []byte{9, 9, 9, 9}
)

// largeFile is the structure of a file, and where its data begins. The two tensors follow
// each other.
type largeFile struct {
	name string
	head []byte
	tail bool
}

// largeFiles are of those formats whose structure is soon written.
func largeFiles() []largeFile {
	return []largeFile{
		{"w.mag", largeMAG(), true},
		{"w.tsr", largeTSR(), false},
		{"w.safetensors", largeSafetensors(), true},
		{"w.gguf", largeGGUF(), true},
		{"w.npy", largeNPY(), false},
	}
}

func largeMAG() []byte {
	var b, records wire.Buffer
	record := func(key string, offset int64, shape ...int64) {
		numel := int64(1)
		for _, d := range shape {
			numel *= d
		}
		records.Raw([]byte{18, byte(len(shape)), 0, 0})
		records.I64(numel)
		records.I64(offset)
		for _, d := range shape {
			records.I64(d)
		}
		records.U32(uint32(len(key)))
		records.Str(key)
	}
	record("big", 192, largeShape...)
	record("tail", 192+largeBytes, 4)
	var counts wire.Buffer
	counts.U32(2)
	counts.U32(0)
	counts.U32(0)
	counts.Raw(records.Bytes())
	b.Str("MAG!")
	b.U32(1)
	b.U32(tensor.UpdateCRC32C(0, counts.Bytes()))
	b.Raw(counts.Bytes())
	b.Fill(192-b.Len(), 0xff)
	return b.Bytes()
}

func largeTSR() []byte {
	var b wire.Buffer
	b.Str("TSR!")
	for _, v := range []int32{1, 64, 0, 2, 4, 5, 1024, 1024, 1024} {
		b.I32(v)
	}
	b.I64(largeBytes)
	b.Fill(16, 0)
	return b.Bytes()
}

func largeSafetensors() []byte {
	text := fmt.Sprintf(`{"big":{"dtype":"I8","shape":[5,1024,1024,1024],"data_offsets":[0,%d]},"tail":{"dtype":"I8","shape":[4],"data_offsets":[%d,%d]}}`,
		int64(largeBytes), int64(largeBytes), int64(largeBytes)+4)
	text += strings.Repeat(" ", -len(text)&7)
	var b wire.Buffer
	b.U64(uint64(len(text)))
	b.Str(text)
	return b.Bytes()
}

func largeGGUF() []byte {
	var b wire.Buffer
	b.Str("GGUF")
	b.U32(3)
	b.U64(2)
	b.U64(0)
	info := func(name string, offset int64, dims ...int64) {
		b.U64(uint64(len(name)))
		b.Str(name)
		b.U32(uint32(len(dims)))
		for _, d := range dims {
			b.I64(d)
		}
		b.U32(24)
		b.I64(offset)
	}
	info("big", 0, 1024, 1024, 1024, 5)
	info("tail", largeBytes, 4)
	b.Fill(-b.Len()&31, 0)
	return b.Bytes()
}

func largeNPY() []byte {
	text := "{'descr': '|i1', 'fortran_order': False, 'shape': (5, 1024, 1024, 1024), }"
	text += strings.Repeat(" ", 117-len(text)) + "\n"
	var b wire.Buffer
	b.Str("\x93NUMPY\x01\x00")
	b.U16(uint16(len(text)))
	b.Str(text)
	return b.Bytes()
}

// write makes the file, which takes some kilobytes of the disk.
func (l *largeFile) write(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), l.name)
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	size := int64(len(l.head)) + largeBytes
	if err := f.Truncate(size); err != nil {
		t.Skip("no sparse files here: ", err)
	}
	_, err = f.WriteAt(l.head, 0)
	if _, e := f.WriteAt(largeEnd, size-int64(len(largeEnd))); err == nil {
		err = e
	}
	if l.tail {
		if _, e := f.WriteAt(largeTail, size); err == nil {
			err = e
		}
	}
	if err != nil {
		t.Fatal(err)
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
	for _, l := range largeFiles() {
		path := l.write(t)
		t.Run(l.name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			m, err := format.Open(path, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer m.Close()
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
		if err != nil {
			t.Fatal(err)
		}
		if b, err := tail.Bytes(); err != nil || !bytes.Equal(b, largeTail) {
			t.Errorf("tail: %v, %v", b, err)
		}
		if _, err := m.Verify(t.Context(), format.WithTensors("tail")); err != nil {
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
