package mobile

import (
	"cmp"
	"go/doc/comment"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/weightmap/weightmap/internal/expect"
)

// TestDocumentation finds each sample of the package documentation in a file that is compiled
// and run, and each of these files in the documentation.
func TestDocumentation(t *testing.T) {
	names, err := filepath.Glob("testdata/samples/*")
	expect.OK(t, err)
	shown := map[string]bool{}
	files := map[string]string{}
	for _, name := range names {
		text := expect.Read(t, name)
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
				expect.OK(t, err)
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
		text := expect.Read(t, name)
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
	equal(t, "Java", want, java)
	equal(t, "Swift", words, swift)
	if len(want) == 0 {
		t.Error("no codes found")
	}
}

// documented returns the code of the package documentation.
func documented(t *testing.T) (samples []string) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "doc.go", nil, parser.ParseComments)
	expect.OK(t, err)
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

const module = "github.com/weightmap/weightmap/"

// TestFormats: a build tag for each format leaves out the others, and what only they
// need. No tag leaves out nothing.
func TestFormats(t *testing.T) {
	if testing.Short() {
		t.Skip("asks the go command a dozen times")
	}
	formats := []string{"format/gguf", "format/npy", "format/onnx", "format/safetensors", "mag", "mle", "mobi", "tsr", "wia"}
	tests := [][]string{formats, {"mobi", "mag"}, {"mobi", "mle"}}
	for _, f := range formats {
		tests = append(tests, []string{f})
	}
	for _, want := range tests {
		var tags []string
		for _, f := range want {
			if len(want) < len(formats) {
				tags = append(tags, "weightmap_"+strings.TrimPrefix(f, "format/"))
			}
		}
		t.Run(strings.Join(tags, ","), func(t *testing.T) {
			deps := dependencies(t, tags)
			var got []string
			for _, f := range formats {
				if slices.Contains(deps, module+f) {
					got = append(got, f)
				}
			}
			slices.Sort(want)
			equal(t, "formats", want, got)
			signed := slices.Contains(want, "mle") || slices.Contains(want, "wia")
			for _, dep := range []string{"net", "net/http", "crypto/tls", "crypto/x509", module + "internal/keys"} {
				if may := signed && !strings.Contains(dep, "http") && !strings.Contains(dep, "tls"); !may && slices.Contains(deps, dep) {
					t.Errorf("%s is among the dependencies", dep)
				}
			}
		})
	}
}

// dependencies lists the packages that this one needs with some build tags.
func dependencies(t *testing.T, tags []string) []string {
	t.Helper()
	list := exec.Command("go", "list", "-deps", "-tags", strings.Join(tags, ","), ".")
	out, err := list.Output()
	if err != nil {
		if _, lookup := exec.LookPath("go"); lookup != nil {
			t.Skip("no go command: ", lookup)
		}
		t.Fatal(err)
	}
	return strings.Fields(string(out))
}
