package mobile

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/weightmap/weightmap/"

// TestFormats: a build tag for each format leaves out the others, and what only they
// need. No tag leaves out nothing.
func TestFormats(t *testing.T) {
	if testing.Short() {
		t.Skip("asks the go command a dozen times")
	}
	formats := []string{"format/gguf", "format/npy", "format/onnx", "format/safetensors", "mag", "mle", "mobi", "tsr", "wia"}
	tests := [][]string{formats, {"mobi", "mag"}, {"mobi", "mle"}}
	for _, f := range formats {
		tests = append(tests, []string{f})
	}
	for _, want := range tests {
		var tags []string
		for _, f := range want {
			if len(want) < len(formats) {
				tags = append(tags, "weightmap_"+strings.TrimPrefix(f, "format/"))
			}
		}
		t.Run(strings.Join(tags, ","), func(t *testing.T) {
			deps := dependencies(t, tags)
			var got []string
			for _, f := range formats {
				if slices.Contains(deps, module+f) {
					got = append(got, f)
				}
			}
			slices.Sort(want)
			equal(t, "formats", want, got)
			signed := slices.Contains(want, "mle") || slices.Contains(want, "wia")
			for _, dep := range []string{"net", "net/http", "crypto/tls", "crypto/x509", module + "internal/keys"} {
				if may := signed && !strings.Contains(dep, "http") && !strings.Contains(dep, "tls"); !may && slices.Contains(deps, dep) {
					t.Errorf("%s is among the dependencies", dep)
				}
			}
		})
	}
}

// dependencies lists the packages that this one needs with some build tags.
func dependencies(t *testing.T, tags []string) []string {
	t.Helper()
	list := exec.Command("go", "list", "-deps", "-tags", strings.Join(tags, ","), ".")
	out, err := list.Output()
	if err != nil {
		if _, lookup := exec.LookPath("go"); lookup != nil {
			t.Skip("no go command: ", lookup)
		}
		t.Fatal(err)
	}
	return strings.Fields(string(out))
}
