package convert_test

import (
	"fmt"
	"log"

	_ "github.com/weightmap/weightmap/format/all"
	"github.com/weightmap/weightmap/format/convert"
	"github.com/weightmap/weightmap/tensor"
)

// Matrices become int8 with a scale for each row, and what the target has no place
// for is left out and listed.
func ExampleFile() {
	report, err := convert.File("model.safetensors", "model.wia", &convert.Options{
		Lossy:  true,
		Verify: true,
		Quantize: func(t tensor.Info) *tensor.QuantizeOptions {
			if len(t.Shape) < 2 {
				return nil
			}
			return &tensor.QuantizeOptions{PerChannel: true, Axis: 0}
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	for _, l := range report.Losses {
		fmt.Println("lost", l.Item(), l.Why)
	}
}
