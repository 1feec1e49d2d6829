package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/tensor"
)

// newcomer makes the models of ../shared/cases/newcomer in the current directory: plain.safetensors,
// shards-safetensors and shards-gguf, and in lone one part of each.
func newcomer(t *testing.T) {
	t.Helper()
	weight, err := tensor.Of("fc.weight", tensor.Shape{64, 32}, make([]float32, 64*32))
	expect.OK(t, err)
	bias, err := tensor.Of("fc.bias", tensor.Shape{64}, make([]float32, 64))
	expect.OK(t, err)
	expect.OK(t, format.Save("plain.safetensors", "", weight, bias))
	for _, dir := range []string{"shards-safetensors", "shards-gguf", "lone"} {
		expect.OK(t, os.Mkdir(dir, 0o755))
	}
	tool(t, 0, "split", "-max-shard", "4kB", "plain.safetensors", "shards-safetensors/model.safetensors")
	tool(t, 0, "split", "-max-shard", "4kB", "plain.safetensors", "shards-gguf/plain.gguf")
	for _, path := range []string{"shards-safetensors/model-00001-of-00002.safetensors", "shards-gguf/plain-00002-of-00002.gguf"} {
		expect.OK(t, os.WriteFile(filepath.Join("lone", filepath.Base(path)), expect.Read(t, path), 0o644))
	}
}

// TestParts is ../shared/cases/newcomer/shards-safetensors, shards-gguf and plain.safetensors: a part is opened as the whole
// model where that is there, and is refused as a model where not; no command replaces a part; set names its OUT.
func TestParts(t *testing.T) {
	const (
		shard  = "shards-safetensors/model-00001-of-00002.safetensors"
		index  = "shards-safetensors/model.safetensors.index.json"
		second = "shards-gguf/plain-00002-of-00002.gguf"
		first  = "shards-gguf/plain-00001-of-00002.gguf"
		lone   = "lone/model-00001-of-00002.safetensors"
		loneG  = "lone/plain-00002-of-00002.gguf"
	)
	whole := shard + " is part 1 of 2: opening the whole model, " + index
	for _, tt := range []struct {
		line      string
		status    int
		out, errs string // parts of what is printed
		tensors   int    // of the file that is written last on the line, -1 if it must not be there
	}{
		{"merge " + shard + " out.safetensors", 0, "out.safetensors: written (safetensors, 8.6 kB)", whole, 2},
		{"convert " + shard + " out.gguf", 0, "out.gguf: written", whole, 2},
		{"convert " + second + " out.safetensors", 0, "written", second + " is part 2 of 2: opening the whole model, " + first, 2},
		{"convert -part " + shard + " out.gguf", 0, "written", "", 1},
		{"merge " + lone + " out.safetensors", 1, "", lone + ": it is only part 1 of 2 of a model, of which model-00002-of-00002.safetensors is not there: get the others, or take it as it is\n" +
			"try: weightmap merge -part " + lone + " out.safetensors\n", -1},
		{"merge -part " + lone + " out.safetensors", 0, "written", "", 1},
		{"merge " + loneG + " out.gguf", 1, "", "it is only part 2 of 2 of a model, of which plain-00001-of-00002.gguf is not there", -1},
		{"merge -part " + loneG + " out.gguf", 0, "written", "", 1},
		{"verify " + lone, 0, lone + ": ok, but nothing covers the header or the data of 1 tensor (safetensors 1, part 1 of 2, 1 tensor, 328 bytes)", "", 0},
		{"verify " + loneG, 0, "(gguf 3, part 2 of 2, 1 tensor, 8.4 kB)", "", 0},
		{"verify " + shard + " shards-safetensors/model-00002-of-00002.safetensors", 0, "model-00002-of-00002.safetensors: part 2 of 2 of " + index + ", see above\n", whole, 0},
		{"inspect " + lone, 0, lone + ": safetensors 1, part 1 of 2, 1 tensor, 328 bytes\n", "", 0},
		{"inspect " + lone, 0, "note: part 1 of 2 of a model, of which model-00002-of-00002.safetensors is not there\n", "", 0},
		{"inspect -json " + loneG, 0, "\"part\": {\n  \"index\": 2,\n  \"count\": 2\n }", "", 0},
		{"inspect " + shard, 0, index + ": safetensors 1, 2 tensors, ", whole, 0},
		{"inspect -part " + shard, 0, "safetensors 1, part 1 of 2, 1 tensor", "", 0},
		{"diff " + shard + " plain.safetensors", 0, "equal: 2 tensors", whole, 0},
		{"diff " + lone + " plain.safetensors", 1, "part 1 of 2, 1 tensor", "", 0},
		{"cat -slice 0 " + shard + " fc.bias", 0, "0\n", whole, 0},
		{"merge " + index + " " + shard, 1, "", "it is a file of the model that is converted: writing it would break that model\ntry: weightmap merge " + index + " shards-safetensors/model-new.safetensors\n", 1},
		{"merge plain.safetensors " + shard, 1, "", "it is part 1 of 2 of a model, which model.safetensors.index.json opens: writing it would break that model", 1},
		{"merge " + first + " " + second, 1, "", "it is a file of the model that is converted", 1},
		{"merge " + first + " " + first, 1, "", "which plain-00001-of-00002.gguf opens: writing it would break that model", 2},
		{"convert plain.safetensors " + first, 1, "", "try: weightmap convert plain.safetensors shards-gguf/plain-new.gguf\n", 2},
		{"set plain.safetensors author=Bob epoch=3", 2, "", "OUT is missing, which may be IN; usage: weightmap set [-delete KEY]... [-key HEX] IN OUT [KEY=VALUE]...\n" +
			"try: weightmap set plain.safetensors plain.safetensors author=Bob epoch=3\n", -1},
		{"set plain.safetensors out.safetensors =b a=1", 2, "", "\"=b\" has no KEY before =; usage: weightmap set [-delete KEY]... [-key HEX] IN OUT [KEY=VALUE]...\n" +
			"try: weightmap set plain.safetensors out.safetensors KEY=b a=1\n", 0},
		{"set plain.safetensors =b", 2, "", "try: weightmap set plain.safetensors plain.safetensors KEY=b\n", -1},
		{"set -delete x plain.safetensors", 2, "", "try: weightmap set -delete x plain.safetensors plain.safetensors\n", 2},
		{"set plain.safetensors", 2, "", "try: weightmap set plain.safetensors plain.safetensors KEY=VALUE\n", 2},
		{"set -o a=b plain.safetensors x=1", 2, "", "-o a=b is no name of a model; usage: weightmap set [-delete KEY]... [-key HEX] IN OUT [KEY=VALUE]...\n" +
			"try: weightmap set -o plain.safetensors plain.safetensors x=1\n", -1},
		{"set " + shard + " out.safetensors a=1", 0, "written", whole, 0},
		{"set plain.safetensors " + shard + " a=1", 1, "", "writing it would break that model\ntry: weightmap set plain.safetensors shards-safetensors/model-new.safetensors a=1\n", 0},
		{"set " + lone + " out.safetensors a=1", 1, "", "try: weightmap set -part " + lone + " out.safetensors a=1\n", 0},
		{"set -part " + shard + " " + shard + " a=1", 0, "written", "", 0},
	} {
		t.Run(strings.ReplaceAll(tt.line, "/", "_"), func(t *testing.T) {
			t.Chdir(t.TempDir())
			newcomer(t)
			words := strings.Fields(tt.line)
			out, errs := tool(t, tt.status, words...)
			contains(t, out, tt.out)
			contains(t, errs, tt.errs)
			if tt.errs == "" && errs != "" {
				t.Errorf("standard error: %s", errs)
			}
			last := words[len(words)-1]
			if tt.tensors < 0 {
				if _, err := os.Lstat(last); err == nil {
					t.Errorf("%s is there", last)
				}
			}
			if tt.tensors > 0 {
				m, err := format.Open(last, nil)
				expect.OK(t, err)
				defer m.Close()
				if diff := cmp.Diff(tt.tensors, m.Len()); diff != "" {
					t.Errorf("tensors of %s: %s", last, diff)
				}
			}
			// What comes after "try:" works.
			if _, try, found := strings.Cut(errs, "try: weightmap "); found {
				words := strings.Fields(try)
				status := 0
				if words[len(words)-1] == "plain.safetensors" && words[1] == "-delete" {
					status = 1 // there is no such entry
				}
				tool(t, status, words...)
			}
		})
	}
}

// TestChoice: the error of a place with several models, or with none that opens it, ends with a command that opens one.
func TestChoice(t *testing.T) {
	for _, tt := range []struct {
		name  string
		files []string
		try   string
	}{
		{"several GGUF files", []string{"repo/m-Q4_0.gguf", "repo/m-Q8_0.gguf"}, "weightmap inspect repo/m-Q4_0.gguf"},
		{"a pipeline of diffusers", []string{"repo/unet/diffusion_pytorch_model.safetensors", "repo/vae/diffusion_pytorch_model.safetensors"}, "weightmap inspect repo/unet"},
		{"a Trainer's directory", []string{"repo/checkpoint-500/model.safetensors"}, "weightmap inspect repo/checkpoint-500"},
		{"a cache", []string{"repo/models--org--name/model.safetensors"}, "weightmap inspect repo/models--org--name"},
		{"a lost shard", []string{"repo/m-00001-of-00002.safetensors"}, "weightmap inspect repo/m-00001-of-00002.safetensors"},
		{"a name with a space", []string{"repo/a b.gguf", "repo/c.gguf"}, "weightmap inspect 'repo/a b.gguf'"},
		{"no model", []string{"repo/README.md.gguf/x"}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			for _, file := range tt.files {
				expect.OK(t, os.MkdirAll(filepath.Dir(file), 0o755))
				w, err := tensor.Of("w", tensor.Shape{1}, []float32{1})
				expect.OK(t, err)
				expect.OK(t, format.Save("m.safetensors", "", w))
				expect.OK(t, os.Rename("m.safetensors", file))
			}
			_, errs := tool(t, 1, "inspect", "repo")
			_, try, _ := strings.Cut(errs, "\ntry: ")
			expect.Equal(t, tt.try, strings.TrimSuffix(try, "\n"))
			if tt.try != "" {
				words := strings.Fields(strings.ReplaceAll(tt.try, "'repo/a b.gguf'", "repo/a?b.gguf"))
				tool(t, 0, words[1], strings.ReplaceAll(words[2], "?", " "))
			}
		})
	}
}
