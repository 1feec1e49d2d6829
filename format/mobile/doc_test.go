package mobile

import (
	"go/doc/comment"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestDocumentation holds the samples of the package documentation to the files
// that are compiled and run: the lines of each stand in one file, one after the
// other, and every file is shown.
func TestDocumentation(t *testing.T) {
	names, err := filepath.Glob("testdata/samples/*")
	if err != nil {
		t.Fatal(err)
	}
	shown := map[string]bool{}
	files := map[string]string{}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		files[name] = trimmed(string(text))
		shown[name] = false
	}
	for _, sample := range documented(t) {
		if strings.HasPrefix(sample, "go mod init ") || strings.HasPrefix(sample, "gomobile ") {
			continue // the commands that build for phones need the phones' SDKs
		}
		if strings.HasPrefix(sample, "android/") {
			checkFiles(t, sample)
			continue
		}
		found := false
		for name, text := range files {
			if strings.Contains(text, trimmed(sample)) {
				shown[name], found = true, true
			}
		}
		if !found {
			t.Errorf("sample is in no file:\n%s", sample)
		}
	}
	if len(files) < 3 {
		t.Errorf("%d files of samples, there are more", len(files))
	}
	for name, ok := range shown {
		if !ok {
			t.Errorf("%s is not in the documentation", name)
		}
	}
}

// checkFiles looks whether the files are there that lines begin with.
func checkFiles(t *testing.T, list string) {
	t.Helper()
	for line := range strings.Lines(list) {
		if _, err := os.Stat(strings.Fields(line)[0]); err != nil {
			t.Error(err)
		}
	}
}

// documented returns the code of the package documentation.
func documented(t *testing.T) (samples []string) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "doc.go", nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range new(comment.Parser).Parse(file.Doc.Text()).Content {
		if code, ok := b.(*comment.Code); ok {
			samples = append(samples, code.Text)
		}
	}
	return samples
}

// trimmed returns the lines of a text without indentation.
func trimmed(text string) string {
	var out strings.Builder
	for line := range strings.Lines(text) {
		out.WriteString(strings.TrimSpace(line) + "\n")
	}
	return out.String()
}
