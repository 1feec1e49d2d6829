//go:build !race

// The race detector would see nothing of the processes started here.

package mobile

import (
	"cmp"
	"debug/buildinfo"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/weightmap/weightmap/internal/expect"
)

// TestGobind binds the package for both systems: nothing may be left out. The
// Java classes and the samples for Java and Kotlin run on the JVM of this machine; Swift is checked
// against the Objective-C header.
func TestGobind(t *testing.T) {
	if testing.Short() {
		t.Skip("gobind takes seconds")
	}
	b := findGobind(t)
	out := b.bind(t)
	files := generated(t, out)
	for name, text := range files {
		for line := range strings.Lines(text) {
			if strings.Contains(line, "skipped ") {
				t.Errorf("%s: %s", name, line)
			}
		}
	}
	checkBound(t, files)
	t.Run("swift", func(t *testing.T) { testSwift(t, files["src/gobind/Mobile.objc.h"]) })
	t.Run("jvm", func(t *testing.T) {
		d := newDesktop(t, b, out)
		t.Run("app", func(t *testing.T) { testApp(t, d) })
		t.Run("java", func(t *testing.T) { testJavaSample(t, d) })
		t.Run("kotlin", func(t *testing.T) { testKotlinSample(t, d) })
	})
}

// binder is an installed gobind.
type binder struct {
	path   string
	module string // that it comes from, "golang.org/x/mobile@v..."
	mod    string // a copy of go.mod that requires that module
}

// findGobind finds the gobind program, and makes a go.mod that requires the
// module it comes from, in which gobind looks for its support files.
func findGobind(t *testing.T) (b binder) {
	t.Helper()
	path, err := exec.LookPath("gobind")
	if err != nil {
		t.Skip("gobind is not in PATH: go install golang.org/x/mobile/cmd/gobind@latest")
	}
	b.path = path
	info, err := buildinfo.ReadFile(b.path)
	if err != nil {
		t.Skipf("%s does not say which version it is: %v", b.path, err)
	}
	b.module = info.Main.Path + "@" + info.Main.Version
	dir := t.TempDir()
	copyFiles(t, dir, filepath.Join("..", "..", "go.mod"), filepath.Join("..", "..", "go.sum"))
	b.mod = filepath.Join(dir, "go.mod")
	if text, err := exec.Command("go", "mod", "edit", "-require="+b.module, b.mod).CombinedOutput(); err != nil {
		t.Skipf("%s is of no published version (%s): %s", b.path, b.module, text)
	}
	list := exec.Command("go", "list", "-mod=mod", "-modfile="+b.mod, "golang.org/x/mobile/bind", "golang.org/x/mobile/bind/java")
	if text, err := list.CombinedOutput(); err != nil {
		t.Skipf("%s is not to be had: %v\n%s", b.module, err, text)
	}
	return b
}

// bind binds this package, and returns where to.
func (b binder) bind(t *testing.T) (out string) {
	t.Helper()
	out = t.TempDir()
	flags := os.Getenv("GOFLAGS")
	t.Setenv("GOFLAGS", flags+" -mod=mod -modfile="+b.mod)
	run(t, "", b.path, "-lang=java,go,objc", bindFlag(t, "-javapkg="), "-outdir="+out, ".")
	t.Setenv("GOFLAGS", flags)
	return out
}

// copyFiles copies files to a directory.
func copyFiles(t *testing.T, dir string, files ...string) {
	t.Helper()
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, filepath.Base(name)), text, 0o600)
		}
		expect.OK(t, err)
	}
}

// goEnv asks the go command for a setting.
func goEnv(t *testing.T, name string) string {
	t.Helper()
	out, err := exec.Command("go", "env", name).Output()
	if err != nil {
		t.Skipf("no go command: %v", err)
	}
	return strings.TrimSpace(string(out))
}

// generated returns the texts of all files below dir.
func generated(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := fs.WalkDir(os.DirFS(dir), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(filepath.Join(dir, path))
		files[path] = string(b)
		return err
	})
	expect.OK(t, err)
	return files
}

// checkBound looks for everything this package exports in the Java classes and
// in the Objective-C header: gobind drops some declarations silently. It also overrides
// methods of NSObject silently.
func checkBound(t *testing.T, files map[string]string) {
	t.Helper()
	header := files["src/gobind/Mobile.objc.h"]
	if m := regexp.MustCompile(`(?m)^- .*\)(retain|release|autorelease|dealloc|copy|class|hash|isEqual|self)\b.*$`).FindString(header); m != "" {
		t.Errorf("NSObject has the method too: %s", m)
	}
	for _, x := range exported(t) {
		class := files["java/io/github/weightmap/mobile/"+x.class+".java"]
		if !regexp.MustCompile(`(?i)\b(get)?` + x.name + `\b *[(={]`).MatchString(class) {
			t.Errorf("%s of %s is not in its Java class", x.name, x.class)
		}
		if !regexp.MustCompile(`(?i)\b(Mobile)?` + x.name + `\b`).MatchString(header) {
			t.Errorf("%s of %s is not in the Objective-C header", x.name, x.class)
		}
	}
}

type exportedName struct{ class, name string }

// exported lists the exported functions, constants, methods and fields.
func exported(t *testing.T) (names []exportedName) {
	t.Helper()
	text := expect.Read(t, "../../internal/api/api.txt")
	line := regexp.MustCompile(`(?m)^format/mobile, (?:(?:const|func) (\w+)|func \(\*(\w+)\)\.(\w+)|type (\w+) (?:struct, field |interface\{)(\w+))`)
	for _, m := range line.FindAllStringSubmatch(string(text), -1) {
		names = append(names, exportedName{cmp.Or(m[2], m[4], "Mobile"), m[1] + m[3] + m[5]})
	}
	if len(names) < 60 {
		t.Fatalf("%d exported names found, there are more", len(names))
	}
	return names
}

// testSwift checks without a Swift compiler that the header declares what the class for Swift uses,
// and the class what the sample uses.
func testSwift(t *testing.T, header string) {
	class := expect.Read(t, "ios/WeightFile.swift")
	sample := expect.Read(t, "testdata/samples/Sample.swift")
	use := regexp.MustCompile(`\b(Mobile\w+)|\b(?:model|tensor|pin)\.(\w+)\(`)
	check := func(user, declared string, least int) {
		t.Helper()
		names := use.FindAllStringSubmatch(user, -1)
		for _, m := range names {
			name := strings.TrimSuffix(m[1]+m[2], "Protocol")
			if !regexp.MustCompile(`\b` + name + `\b`).MatchString(declared) {
				t.Errorf("nothing declares %s", name)
			}
		}
		if len(names) < least {
			t.Errorf("%d names used, there are more", len(names))
		}
	}
	check(string(class), header, 20)
	check(string(sample), header+string(class), 4)
}

// TestSwiftSyntax parses the files in Swift, and one without its last brace.
func TestSwiftSyntax(t *testing.T) {
	modules := os.Getenv("TREE_SITTER_SWIFT")
	node, err := exec.LookPath("node")
	if err != nil || modules == "" {
		t.Skip("no parser: install tree-sitter and tree-sitter-swift with npm, and set TREE_SITTER_SWIFT to their node_modules")
	}
	text := expect.Read(t, "ios/WeightFile.swift")
	broken := filepath.Join(t.TempDir(), "Broken.swift")
	write(t, broken, strings.TrimSuffix(string(text), "}\n"))
	for file, sound := range map[string]bool{"ios/WeightFile.swift": true, "testdata/samples/Sample.swift": true, broken: false} {
		cmd := exec.Command(node, "testdata/swift/syntax.js", file)
		cmd.Env = append(os.Environ(), "NODE_PATH="+modules)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		if (len(out) == 0) != sound {
			t.Errorf("%s: errors %q", file, out)
		}
	}
}
