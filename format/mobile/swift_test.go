//go:build !race

// The race detector would see nothing of the processes started here.

package mobile

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// testSwift checks without a Swift compiler that the header declares what the class for Swift uses,
// and the class what the sample uses.
func testSwift(t *testing.T, header string) {
	class, err := os.ReadFile("ios/WeightFile.swift")
	must(t, err)
	sample, err := os.ReadFile("testdata/samples/Sample.swift")
	must(t, err)
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
	text, err := os.ReadFile("ios/WeightFile.swift")
	must(t, err)
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
