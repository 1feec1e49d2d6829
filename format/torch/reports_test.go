package torch

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/weightmap/weightmap/internal/expect"
)

const reports = "../../../shared/cases/reports"

// TestReports opens the PyTorch files of cases/reports, which are of the kinds that public bug reports describe.
func TestReports(t *testing.T) {
	b, err := os.ReadFile(filepath.Join(reports, "expected.json"))
	if errors.Is(err, os.ErrNotExist) {
		t.Skip("shared/cases/reports is missing: TestForeign opens files of the same kinds that are built here")
	}
	expect.OK(t, err)
	var cases map[string]struct {
		Tensors map[string]described
	}
	expect.OK(t, json.Unmarshal(b, &cases))
	n := 0
	for file, want := range cases {
		switch filepath.Ext(file) {
		case ".pt", ".pth", ".ckpt":
			n++
			compare(t, filepath.Join(reports, file), want.Tensors)
		}
	}
	expect.Equal(t, 9, n)
}
