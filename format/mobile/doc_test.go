package mobile

import (
	"cmp"
	"go/doc/comment"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
)

// TestDocumentation finds each sample of the package documentation in a file that is compiled
// and run, and each of these files in the documentation.
func TestDocumentation(t *testing.T) {
	names, err := filepath.Glob("testdata/samples/*")
	must(t, err)
	shown := map[string]bool{}
	files := map[string]string{}
	for _, name := range names {
		text, err := os.ReadFile(name)
		must(t, err)
		files[name] = trimmed(string(text))
		shown[name] = false
	}
	for _, sample := range documented(t) {
		if strings.HasPrefix(sample, "go mod init ") || strings.HasPrefix(sample, "gomobile ") || strings.HasPrefix(sample, "unzip ") {
			continue // building for phones takes their SDKs; the flags are used by TestGobind
		}
		if strings.HasPrefix(sample, "android/") {
			for line := range strings.Lines(sample) {
				_, err := os.Stat(strings.Fields(line)[0])
				must(t, err)
			}
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

// bindFlag returns the flag of the documented "gomobile bind -target=android" that has this
// prefix, without quotes.
func bindFlag(t *testing.T, prefix string) string {
	t.Helper()
	for _, sample := range documented(t) {
		_, command, _ := strings.Cut(sample, "gomobile bind -target=android ")
		command, _, _ = strings.Cut(command, "\n")
		if _, flag, ok := strings.Cut(command, prefix); ok {
			end := " "
			if rest, quoted := strings.CutPrefix(flag, `"`); quoted {
				flag, end = rest, `"`
			}
			flag, _, _ = strings.Cut(flag, end)
			return prefix + flag
		}
	}
	t.Fatalf("no %s in the documented command", prefix)
	return ""
}

// TestErrorTypes: the codes of the classes for Java, Kotlin and Swift are those of this package.
func TestErrorTypes(t *testing.T) {
	source := func(name string) string {
		text, err := os.ReadFile(name)
		must(t, err)
		return string(text)
	}
	var want, words []string
	for _, m := range regexp.MustCompile(`(Code\w+) += "(.*)"`).FindAllStringSubmatch(source("errors.go"), -1) {
		want, words = append(want, m[1]), append(words, m[2])
	}
	var java, swift []string
	for _, m := range regexp.MustCompile(`\(Mobile\.(Code\w+)\)[,;]`).FindAllStringSubmatch(source("android/io/github/weightmap/WeightmapException.java"), -1) {
		java = append(java, m[1])
	}
	for _, m := range regexp.MustCompile(`(?m)^        case (\w+)(?: = "(.*)")?$`).FindAllStringSubmatch(source("ios/WeightFile.swift"), -1) {
		swift = append(swift, cmp.Or(m[2], m[1]))
	}
	if diff := gocmp.Diff(want, java); diff != "" || len(want) == 0 {
		t.Errorf("Java (-want +got)\n%s", diff)
	}
	if diff := gocmp.Diff(words, swift); diff != "" {
		t.Errorf("Swift (-want +got)\n%s", diff)
	}
}

// documented returns the code of the package documentation.
func documented(t *testing.T) (samples []string) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "doc.go", nil, parser.ParseComments)
	must(t, err)
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
