package mag

import (
	"encoding/binary"
	"testing"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/tensor"
)

// TestProducts checks that products of 2^63 and more are refused, even if their
// low 64 bits are small.
func TestProducts(t *testing.T) {
	for _, tt := range []struct {
		a, b  uint64
		dtype tensor.DType
		field string
		at    int64
	}{
		{3, 5, tensor.Float64, "", 0},
		{1<<32 + 1, 1<<32 + 1, tensor.Bool, "tensor shape", 16}, // 2^64 + 2^33 + 1
		{1 << 32, 1 << 31, tensor.Bool, "tensor shape", 16},
		{1 << 63, 1, tensor.Bool, "tensor shape", 8},
		{1, 0, tensor.Bool, "tensor shape", 16},
		{1 << 60, 1, tensor.Float64, "tensor numel", 0},
		{1<<61 + 1, 1, tensor.Float64, "tensor numel", 0},
		{1<<63 - 1, 1, tensor.Float64, "tensor numel", 0},
	} {
		b := binary.LittleEndian.AppendUint64(nil, tt.a*tt.b)
		b = binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(b, tt.a), tt.b)
		r := record{container: &container{dtypes: []tensor.DType{0, tt.dtype}, dtype: 24, dims: 8}, b: append(b, 1)}
		r.tensor.Name = []byte("x")
		err := r.decode(2, &driver.Index{})
		switch located, _ := err.(*tensor.Error); {
		case tt.field == "" && err == nil:
		case located == nil || located.Field != tt.field || located.Offset != tt.at:
			t.Errorf("%d x %d %v: %v, want %q at %d", tt.a, tt.b, tt.dtype, err, tt.field, tt.at)
		}
	}
}
