package all_test

import (
	"bytes"
	"encoding/binary"
	"path/filepath"
	"testing"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/gguf"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/tensor"
)

// TestPlaces compares where Stats says that things lie with where the bytes are.
func TestPlaces(t *testing.T) {
	data := []byte("the data of a tensor of bytes...")
	s := &schema.Schema{Tensors: []tensor.Info{{Name: "w", DType: tensor.Int32, Shape: tensor.Shape{8}}}}
	cases := []struct {
		file   string
		align  int64
		header func(b []byte) int64 // from the bytes of the file
	}{
		{"w.safetensors", 0, func(b []byte) int64 { return 8 + int64(binary.LittleEndian.Uint64(b)) }},
		{"w.gguf", 32, func(b []byte) int64 {
			name := bytes.Index(b, []byte("\x01\x00\x00\x00\x00\x00\x00\x00w"))
			return int64(name) + 8 + 1 + 4 + 8 + 4 + 8 // the record: name, rank, dim, type, offset
		}},
		{"w.npy", 0, func(b []byte) int64 { return 10 + int64(binary.LittleEndian.Uint16(b[8:])) }},
		{"w.mag", 0, nil},
		{"w.mle", 0, nil},
	}
	for _, c := range cases {
		t.Run(c.file, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), c.file)
			w, err := format.Create(path, s, nil)
			expect.OK(t, err)
			expect.OK(t, w.WriteTensor("w", bytes.NewReader(data)))
			expect.OK(t, w.Close())
			m, err := format.Open(path, nil)
			expect.OK(t, err)
			defer m.Close()
			b := expect.Read(t, path)
			got := m.Stats()
			expect.Equal(t, int64(bytes.Index(b, data)), got.DataOffset)
			expect.Equal(t, c.align, got.Alignment)
			if c.header != nil {
				expect.Equal(t, c.header(b), got.HeaderSize)
			}
			if got.HeaderSize > got.DataOffset {
				t.Errorf("the header ends at %d, behind the beginning of the data at %d", got.HeaderSize, got.DataOffset)
			}
			m.Close()
			closed := m.Stats()
			expect.Equal(t, []int64{0, 0, 0}, []int64{closed.HeaderSize, closed.DataOffset, closed.Alignment})
		})
	}
}

// The index of a model in shards has no data, and a GGUF file without tensors says where it would be.
func TestPlacesOfNoData(t *testing.T) {
	index := sharded(t).Stats()
	expect.Equal(t, []int64{0, 0, 0}, []int64{index.HeaderSize, index.DataOffset, index.Alignment})
	var out bytes.Buffer
	w, err := format.NewWriter(&out, &schema.Schema{Metadata: schema.Metadata{{Key: "general.alignment", Value: uint32(64)}}}, &format.WriteOptions{Format: gguf.Format{}})
	expect.OK(t, err)
	expect.OK(t, w.Close())
	m, err := format.OpenBytes(out.Bytes(), nil)
	expect.OK(t, err)
	defer m.Close()
	got := m.Stats()
	expect.Equal(t, []int64{64, 64}, []int64{got.DataOffset, got.Alignment})
	expect.Equal(t, int64(57), got.HeaderSize) // 24 bytes, and key, type and value
}
