package format

import (
	"io"
	"testing"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/tensor"
)

// TestStreamsOutsideIndex: a tensor of an attribute has no part in the data of a tensor of the index
// with the same name.
func TestStreamsOutsideIndex(t *testing.T) {
	for _, name := range []string{"w", "other"} {
		d := &toy{tensors: []driver.Tensor{loaded(u8("w", 0, 4))}}
		d.parsed.Load = func(int) ([]byte, error) { return []byte("LLLL"), nil }
		d.parsed.Stream = func(_ int, w io.Writer) error { _, err := io.WriteString(w, "LLLL"); return err }
		m := openToy(t, storedFile(t, "m.toy", ramp(8)), d)
		info := &tensor.Info{Name: name, DType: tensor.Uint8, Shape: tensor.Shape{4}, Offset: 2, Size: 4}
		listed := &owner{m, m.spaces.files[0]}
		if !listed.Streams(&tensor.Info{Name: "w"}) {
			t.Error("a tensor that the format streams does not stream")
		}
		if (unlisted{listed}).Streams(info) {
			t.Errorf("%q outside the index streams", name)
		}
		if _, isPart := (unlisted{listed}).Section(info); isPart {
			t.Errorf("%q outside the index is a part of a section", name)
		}
	}
}
