package torch

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/internal/testhost"
)

// TestNests reads random nests of PyTorch's and NumPy's values and of foreign classes, in each container and protocol, as
// PyTorch and Python wrote them.
func TestNests(t *testing.T) {
	testhost.NeedNightly(t, "PyTorch writes 3,000 files")
	dir := t.TempDir()
	testhost.Python(t, "torch", "testdata/nests.py", dir, "1", "200")
	b, err := os.ReadFile(filepath.Join(dir, "index.json"))
	expect.OK(t, err)
	var index map[string]map[string]described
	expect.OK(t, json.Unmarshal(b, &index))
	if len(index) < 2000 {
		t.Errorf("%d files", len(index))
	}
	for file, want := range index {
		compare(t, filepath.Join(dir, file), want)
	}
}
