package disk

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestNothingElseWrites: only this package changes the file system, so that the tests that make calls
// fail miss none.
func TestNothingElseWrites(t *testing.T) {
	calls := regexp.MustCompile(`\bos\.(Chmod|Chown|Chtimes|Create|CreateTemp|Link|Mkdir|MkdirAll|MkdirTemp|OpenFile|Remove|RemoveAll|Rename|Symlink|Truncate|WriteFile)\(`)
	root := filepath.Join("..", "..")
	files := 0
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := filepath.ToSlash(strings.TrimPrefix(path, root+string(filepath.Separator)))
		if e.IsDir() {
			switch name {
			case "examples", "internal/disk", "format/formattest", "internal/corpus", "internal/testhost", "internal/bench", ".git": // programs, tests and benchmarks
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		b, err := os.ReadFile(path)
		files++
		for line := range strings.Lines(string(b)) {
			isComment, reads := strings.HasPrefix(line, "//"), strings.Contains(line, "os.O_RDONLY")
			if call := calls.FindString(line); call != "" && !isComment && !reads && !strings.Contains(string(b), "package main\n") {
				t.Errorf("%s calls %s...)", name, call)
			}
		}
		return err
	})
	if err != nil || files < 100 {
		t.Errorf("%d files, %v", files, err)
	}
}
