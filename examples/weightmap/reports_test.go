package main

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weightmap/weightmap/internal/expect"
)

// reports are files of the kinds that public bug reports describe. Where they are missing, tests of the formats, of format/all
// and of tensor/quant build files of the same kinds, and name the case.
const reports = "../../../shared/cases/reports"

// reported is the expected result of a case.
type reported struct {
	Command string
	Tensors map[string]reportedTensor
	Says    []string `json:"message_must_say"`
}

type reportedTensor struct {
	DType  string  `json:"dtype"`
	Shape  []int64 `json:"shape"`
	SHA256 string  `json:"sha256"`
}

// undecoded are the cases whose weights -join does not decode yet, and what the tool says instead.
var undecoded = map[string]string{
	"s30_gptq.safetensors":     `"l.qweight" is a packed GPTQ weight, which joining does not decode`,
	"s33_bnb_int8.safetensors": `"l.weight" is a packed bitsandbytes int8 weight, which joining does not decode`,
}

// TestReports runs the tool on each case of ../shared/cases/reports.
func TestReports(t *testing.T) {
	dir, err := filepath.Abs(reports)
	expect.OK(t, err)
	b, err := os.ReadFile(filepath.Join(dir, "expected.json"))
	if errors.Is(err, fs.ErrNotExist) {
		t.Skip("shared/cases/reports is missing")
	}
	expect.OK(t, err)
	var cases map[string]reported
	expect.OK(t, json.Unmarshal(b, &cases))
	expect.Equal(t, 21, len(cases))
	for name, want := range cases {
		t.Run(name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			file := filepath.Join(dir, name)
			switch {
			case name == "merge_safetensors":
				mergeShards(t, file)
			case undecoded[name] != "":
				_, errs := tool(t, 1, "convert", "-join", file, "out.safetensors")
				contains(t, errs, undecoded[name])
			case want.Command == "convert -join":
				tool(t, 0, "convert", "-join", file, "out.safetensors")
				compareReported(t, want.Tensors, "out.safetensors")
			case want.Tensors != nil:
				compareReported(t, want.Tensors, file)
			case want.Says != nil:
				var out, errs strings.Builder
				run(t.Context(), []string{"inspect", file}, &out, &errs) // n01_dict.npy opens, with a note
				contains(t, out.String()+errs.String(), want.Says...)
			default: // n04_V1.npy
				out, _ := tool(t, 0, "inspect", file)
				contains(t, out, "|V1")
			}
		})
	}
}

// compareReported compares the tensors of a file with those of a case.
func compareReported(t *testing.T, want map[string]reportedTensor, file string) {
	t.Helper()
	out, _ := tool(t, 0, "inspect", "-json", "-sha256", file)
	var got struct {
		Tensors []struct {
			Name string
			reportedTensor
		}
	}
	expect.OK(t, json.Unmarshal([]byte(out), &got))
	all := map[string]reportedTensor{}
	for _, v := range got.Tensors {
		all[v.Name] = v.reportedTensor
	}
	expect.Equal(t, want, all)
}

// mergeShards merges one shard into another, and one shard into a new file. Both are refused, with the command that works, and
// no file of the model changes.
func mergeShards(t *testing.T, dir string) {
	shards := []string{"model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors", "model.safetensors.index.json"}
	for _, name := range shards {
		expect.OK(t, os.WriteFile(name, expect.Read(t, filepath.Join(dir, name)), 0o644))
	}
	_, errs := tool(t, 1, "merge", shards[0], shards[1])
	contains(t, errs, shards[1]+": target: it is a file of the model that is converted: replacing it would break that model")
	_, errs = tool(t, 1, "merge", shards[0], "one.safetensors")
	contains(t, errs, shards[0]+" is only part 1 of 2", "try: weightmap merge "+shards[2]+" one.safetensors")
	_, err := os.Stat("one.safetensors")
	if !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file after a refusal: %v", err)
	}
	tool(t, 0, "merge", shards[2], "one.safetensors")
	for _, name := range shards {
		expect.Equal(t, string(expect.Read(t, filepath.Join(dir, name))), string(expect.Read(t, name)))
	}
	out, _ := tool(t, 0, "inspect", "one.safetensors")
	contains(t, out, "3 tensors")
}
