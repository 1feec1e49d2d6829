package format

import (
	"fmt"
	"testing"
)

// TestNamesOfParts: a name of a part has a number within its count.
func TestNamesOfParts(t *testing.T) {
	x := &shardIndex{stem: "m", extension: ".safetensors"}
	for name, want := range map[string]string{
		"m-00001-of-00002.safetensors":     "true \"\"",
		"m-00002-of-00002.safetensors":     "true \"\"",
		"m-00000-of-00002.safetensors":     "false \"\"",
		"m-00003-of-00002.safetensors":     "false \"\"",
		"other-00001-of-00002.safetensors": "false \"\"",
		"m-00001-of-00002.bin":             "false \"\"",
		"m.safetensors":                    "false \"\"",
	} {
		generation, isPart := x.Generation(name)
		if got := fmt.Sprintf("%v %q", isPart, generation); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}
