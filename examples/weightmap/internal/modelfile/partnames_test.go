package modelfile

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weightmap/weightmap/internal/expect"
)

// TestSplitNumber: names of parts, and others.
func TestSplitNumber(t *testing.T) {
	for name, want := range map[string]struct {
		stem  string
		count int
	}{
		"m-00001-of-00003.gguf":            {"m", 3},
		"a-b-00002-of-00002.safetensors":   {"a-b", 2},
		"pytorch_model-00010-of-00020.bin": {"pytorch_model", 20},
		"m-00004-of-00003.gguf":            {},
		"m-00000-of-00003.gguf":            {},
		"m-00001-of-00001.gguf":            {},
		"-00001-of-00003.gguf":             {},
		"m-1-of-3.gguf":                    {},
		"m.gguf":                           {},
		"":                                 {},
	} {
		stem, count := SplitNumber(name)
		if stem != want.stem || stem != "" && count != want.count {
			t.Errorf("%s: %q, %d", name, stem, count)
		}
	}
}

// TestOpening: what may open the model of a part, the likeliest first.
func TestOpening(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, name := range []string{"d/other.index.json", "d/m.safetensors.index.json", "d/m-00001-of-00002.gguf"} {
		expect.OK(t, os.MkdirAll(filepath.Dir(name), 0o755))
		expect.OK(t, os.WriteFile(name, nil, 0o666))
	}
	for name, want := range map[string]string{
		"d/m-00002-of-00002.gguf":                    "d/m-00001-of-00002.gguf d/m.safetensors.index.json d/other.index.json d",
		"d/m-00001-of-00002.safetensors":             "d/m.safetensors.index.json d/other.index.json d",
		"d/x.safetensors":                            "d/m.safetensors.index.json d/other.index.json d",
		"m-00001-of-00002.safetensors":               "m.safetensors.index.json .",
		"https://x/d/m-00002-of-00002.gguf?key=1":    "https://x/d/m-00001-of-00002.gguf?key=1",
		"https://x/d/m-00001-of-00002.safetensors":   "https://x/d/m.safetensors.index.json",
		"hf://org/name/m-00001-of-00002.safetensors": "hf://org/name/m.safetensors.index.json",
		"https://x/d/m.gguf":                         "",
	} {
		expect.Equal(t, want, filepath.ToSlash(strings.Join(opening(name), " ")))
	}
	for parts, want := range map[string]string{
		"d/m-00001-of-00002.gguf d/m-00002-of-00002.gguf": "d/m-00001-of-00002.gguf",
		"d/m-00001-of-00002.safetensors":                  "d/m.safetensors.index.json",
		"d/m-00001-of-00002.gguf d/n-00002-of-00002.gguf": "",
		"d/m-00001-of-00002.gguf d/m.gguf":                "",
		"d/n-00001-of-00002.gguf d/n-00002-of-00002.gguf": "",
		"": "",
	} {
		expect.Equal(t, want, OpenerOf(strings.Fields(parts)))
	}
}

// TestRepositoryOf: a name may stand for a repository of the Hub.
func TestRepositoryOf(t *testing.T) {
	t.Chdir(t.TempDir())
	expect.OK(t, os.Mkdir("models", 0o755))
	for name, want := range map[string]string{
		"org/name": "hf://org/name", "meta-llama/Llama-3.1_8B": "hf://meta-llama/Llama-3.1_8B", "huggingface.co/org/name": "hf://org/name",
		"huggingface.co/org/m.gguf": "hf://org/m.gguf", "org/m.gguf": "", "models/name": "", "name": "", "a/b/c": "", "./name": "", "org/": "", "a b/c": "",
	} {
		expect.Equal(t, want, repositoryOf(name))
	}
}
