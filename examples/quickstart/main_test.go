package main

import (
	"bytes"
	"os"
	"strings"
	"testing"
)

// TestRun: every format is written, read and shown, the numbers are the same
// in all of them, and the whole fits on a screen.
func TestRun(t *testing.T) {
	var out bytes.Buffer
	dir := t.TempDir()
	if err := run(&out, dir); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) > 24 {
		t.Errorf("%d lines do not fit on a screen", len(lines))
	}
	weights := map[string]bool{}
	for _, target := range targets {
		found := false
		for _, line := range lines {
			if strings.Contains(line, " "+target.file+" ") {
				found = true
				weights[line[strings.Index(line, "["):]] = true
			}
			if len(line) > 120 {
				t.Errorf("line of %d characters: %s", len(line), line)
			}
		}
		if !found {
			t.Errorf("%s is not in the output", target.file)
		}
		if _, err := os.Stat(dir + "/" + target.file); err != nil {
			t.Error(err)
		}
	}
	if len(weights) != 1 {
		t.Errorf("the formats show different weights:\n%s", &out)
	}
}
