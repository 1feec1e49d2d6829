package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/weightmap/weightmap/format"
)

// TestDamagedData: a changed bit is an error of each command that shows values, which names
// the tensor and what it was checked by, and no value is printed.
func TestDamagedData(t *testing.T) {
	numbers := make([]float32, 64)
	for i := range numbers {
		numbers[i] = float32(i)
	}
	for name, field := range map[string]string{"m.mag": `tensor "w"`, "m.mle": "weights_checksum", "m.wia": "tensor: ", "m.npz": `tensor "w"`} {
		good := save(t, name, format.Plan{}, floats("w", numbers...))
		out, _ := tool(t, 0, "inspect", "-json", good)
		var r struct{ Tensors []struct{ Offset int } }
		must(t, json.Unmarshal([]byte(out), &r))
		bad := damaged(t, good, r.Tensors[0].Offset+5)
		for _, args := range []string{"cat BAD w", "cat -as raw -slice 0:2 BAD w", "diff BAD GOOD", "diff GOOD BAD", "inspect -stats BAD", "inspect -json -sha256 BAD", "inspect -html BAD", "verify BAD"} {
			t.Run(args+" "+name, func(t *testing.T) {
				args := strings.Fields(strings.NewReplacer("BAD", bad, "GOOD", good).Replace(args))
				out, errs := tool(t, 1, args...)
				contains(t, errs, "checksum mismatch", field)
				if args[0] != "verify" {
					contains(t, errs, `tensor "w"`)
				}
				if strings.Count(errs, "\n") != 1 || out != "" {
					t.Errorf("%q, %q", errs, out)
				}
			})
		}
	}
}
