package all_test

import (
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/weightmap/weightmap/format"
)

// TestCopyInterop copies the files of other implementations into every format:
// whatever they hold is kept, or on the list.
func TestCopyInterop(t *testing.T) {
	root := filepath.Join("..", "..", "..", "shared", "interop")
	var files []string
	_ = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		ext := strings.TrimPrefix(filepath.Ext(path), ".")
		if err == nil && slices.Contains(format.Formats(), ext) && !strings.Contains(path, "reject") {
			files = append(files, path)
		}
		return nil
	})
	if len(files) == 0 {
		t.Skip("no files of other implementations here")
	}
	for _, path := range files {
		m, err := format.Open(path, nil)
		if err != nil {
			t.Logf("%s is not read: %v", path, err)
			continue
		}
		if m.NeedsKey() {
			m.Close()
			continue
		}
		for _, to := range format.Writable() {
			t.Run(filepath.Base(path)+" to "+to, func(t *testing.T) {
				if items := copyTo(t, m, to); len(items) > 0 {
					t.Logf("%.300s", strings.Join(items, " "))
				}
			})
		}
		m.Close()
	}
}
