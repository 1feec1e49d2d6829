package mobi

import (
	"errors"
	"testing"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/tensor"
)

// TestConfigErrors writes constants of an unsupported dtype, of no view, and with one id.
func TestConfigErrors(t *testing.T) {
	view := func(d tensor.DType) tensor.View {
		v, err := tensor.FromBytes("w", d, tensor.Shape{2}, make([]byte, 2*d.Size()))
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	good := Constant{1, view(tensor.Int8)}
	for name, list := range map[string][]Constant{"uint8": {{1, view(tensor.Uint8)}}, "no view": {{ID: 1}}, "one id twice": {good, good}} {
		if _, err := (&Config{Constants: list}).Bytes(); !errors.Is(err, format.ErrPlan) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
