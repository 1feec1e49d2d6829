package mobile

import (
	"testing"

	"github.com/weightmap/weightmap/tensor"
)

// TestMaxMemory: the limit holds for what the library keeps and for each copy it returns, and is
// there without options.
func TestMaxMemory(t *testing.T) {
	file, want := sample(t)
	for options, limit := range map[*Options]int64{nil: DefaultMaxMemory, NewOptions(): DefaultMaxMemory, {MaxMemory: 1 << 40}: 1 << 40} {
		m, err := OpenBytes(file, options)
		must(t, err)
		defer m.Close()
		if m.limit != limit {
			t.Errorf("limit %d, want %d", m.limit, limit)
		}
	}
	data := want.Tensors[0].Data
	for limit, code := range map[int]string{len(data): "", len(data) - 1: CodeLimit} {
		m, _ := newFake(t, part{name: "x", dtype: tensor.Float32, shape: want.Tensors[0].Shape, data: data})
		m.limit = int64(limit)
		x := get(t, m, "x")
		if _, err := x.Bytes(); ErrorCode(err) != code {
			t.Errorf("Bytes of %d bytes: %v, want code %q", limit, err, code)
		}
		if _, err := x.Float32Bytes(); ErrorCode(err) != code {
			t.Errorf("Float32Bytes of %d bytes: %v, want code %q", limit, err, code)
		}
		if n, err := x.CopyTo(make([]byte, len(data))); n != int64(len(data)) || err != nil { // the app's memory
			t.Errorf("CopyTo: %d, %v", n, err)
		}
		m.Close()
	}
	if _, err := OpenBytes(file, &Options{MaxMemory: 1}); ErrorCode(err) != CodeLimit {
		t.Errorf("a limit of one byte: %v", err)
	}
}
