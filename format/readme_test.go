package format_test

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestREADME holds the README's Go samples to the examples that are compiled
// and run: the lines of a sample stand in an example_test.go, one after the other.
// Samples in other languages, which nothing here could check, belong elsewhere.
func TestREADME(t *testing.T) {
	readme, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	source := ""
	for _, name := range []string{"example_test.go", "live/example_test.go", "remote/example_test.go"} {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		source += string(text)
	}
	samples := regexp.MustCompile("(?s)```(\\w*)\n(.*?)```").FindAllStringSubmatch(string(readme), -1)
	if len(samples) < 2 {
		t.Fatalf("README has %d samples, want one for reading and one for writing", len(samples))
	}
	for _, s := range samples {
		if s[1] != "go" {
			t.Errorf("a sample in %q is not checked:\n%s", s[1], s[2])
		} else if !strings.Contains(trimmed(source), trimmed(s[2])) {
			t.Errorf("README sample is in no example:\n%s", s[2])
		}
	}
}

// trimmed returns the lines of a text without indentation.
func trimmed(text string) string {
	var out strings.Builder
	for line := range strings.Lines(text) {
		out.WriteString(strings.TrimSpace(line) + "\n")
	}
	return out.String()
}
