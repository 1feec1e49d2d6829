package format_test

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestREADME holds the README's Go samples to the examples that are compiled
// and run: every line of a sample stands in example_test.go.
func TestREADME(t *testing.T) {
	readme, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile("example_test.go")
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	for line := range strings.Lines(string(source)) {
		known[strings.TrimSpace(line)] = true
	}
	samples := regexp.MustCompile("(?s)```go\n(.*?)```").FindAllStringSubmatch(string(readme), -1)
	if len(samples) < 2 {
		t.Fatalf("README has %d Go samples, want one for reading and one for writing", len(samples))
	}
	for _, s := range samples {
		for line := range strings.Lines(s[1]) {
			if line := strings.TrimSpace(line); line != "" && !known[line] {
				t.Errorf("README line is in no example: %s", line)
			}
		}
	}
}
