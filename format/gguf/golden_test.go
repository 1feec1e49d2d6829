package gguf

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/tensor"
)

// TestHeaderBytes spells one file out byte by byte, so that the test code that
// lays out the others is itself held to something.
func TestHeaderBytes(t *testing.T) {
	want := "GGUF" + "\x03\x00\x00\x00" + "\x01\x00\x00\x00\x00\x00\x00\x00" + "\x02\x00\x00\x00\x00\x00\x00\x00" +
		"\x03\x00\x00\x00\x00\x00\x00\x00" + "key" + "\x04\x00\x00\x00" + "\x07\x00\x00\x00" +
		"\x01\x00\x00\x00\x00\x00\x00\x00" + "l" + "\x09\x00\x00\x00" + "\x05\x00\x00\x00" + "\x02\x00\x00\x00\x00\x00\x00\x00" +
		"\xff\xff\xff\xff" + "\x02\x00\x00\x00" +
		"\x01\x00\x00\x00\x00\x00\x00\x00" + "w" + "\x02\x00\x00\x00" +
		"\x03\x00\x00\x00\x00\x00\x00\x00" + "\x02\x00\x00\x00\x00\x00\x00\x00" + "\x18\x00\x00\x00" + "\x00\x00\x00\x00\x00\x00\x00\x00"
	want += string(make([]byte, up(len(want), 32)-len(want))) + "\x01\x02\x03\x04\x05\x06"
	want += string(make([]byte, up(len(want), 32)-len(want)))
	f := fields{
		magic: "GGUF", version: 3,
		entries: []kv{{"key", 4, le32(7)}, {"l", 9, arr(5, le32(math.MaxUint32), le32(2))}},
		tensors: []info{{name: "w", dims: []uint64{3, 2}, typ: 24, data: []byte{1, 2, 3, 4, 5, 6}}},
	}
	if diff := cmp.Diff([]byte(want), f.bytes()); diff != "" {
		t.Error(diff)
	}
	plan := &format.Plan{
		Metadata: format.Metadata{{Key: "key", Value: int64(7)}, {Key: "l", Value: json.RawMessage("[-1, 2]")}},
		Tensors:  []tensor.Info{{Name: "w", DType: tensor.Int8, Shape: tensor.Shape{2, 3}}},
	}
	if diff := cmp.Diff([]byte(want), write(t, plan, nil, map[string][]byte{"w": {1, 2, 3, 4, 5, 6}})); diff != "" {
		t.Error(diff)
	}
}

// plain are the types that are dtypes.
var plain = []struct {
	code  uint32
	dtype tensor.DType
}{
	{0, tensor.Float32}, {1, tensor.Float16}, {24, tensor.Int8}, {25, tensor.Int16}, {26, tensor.Int32},
	{27, tensor.Int64}, {28, tensor.Float64}, {30, tensor.BFloat16},
}
