package tensor

import "testing"

// TestEncodingBytesAllocates: opening asks for each tensor.
func TestEncodingBytesAllocates(t *testing.T) {
	e := &Encoding{Name: "Q4_0", BlockElems: 32, BlockBytes: 18}
	shape := Shape{3, 4, 64}
	if n := testing.AllocsPerRun(10, func() { _, _ = e.Bytes(shape) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
