package disk

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weightmap/weightmap/internal/expect"
)

// TestRenameOpen: replacing a file that is open fails with a clear error and leaves nothing behind.
func TestRenameOpen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "m.mag")
	expect.OK(t, os.WriteFile(path, []byte("old"), 0o666))
	reader, err := os.Open(path)
	expect.OK(t, err)
	defer reader.Close()
	f, err := Create(path)
	expect.OK(t, err)
	if err := f.Publish(); err == nil || !strings.Contains(err.Error(), "open or mapped") {
		t.Errorf("replacing an open file: %v", err)
	}
	wantFiles(t, filepath.Dir(path), map[string]string{"m.mag": "old"})
}
