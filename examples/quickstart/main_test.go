package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weightmap/weightmap/internal/testhost"
)

// TestRun: every format is written, read and shown, the numbers are the same
// in all of them, and the whole fits on a screen. The directory and its parents
// are made.
func TestRun(t *testing.T) {
	var out, errs bytes.Buffer
	dir := filepath.Join(t.TempDir(), "new", "models")
	if status := run([]string{"-dir", dir}, &out, &errs); status != 0 || errs.Len() > 0 {
		t.Fatalf("status %d, %q", status, &errs)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) > 24 {
		t.Errorf("%d lines do not fit on a screen", len(lines))
	}
	weights := map[string]bool{}
	for _, target := range targets {
		found := false
		for _, line := range lines {
			if strings.HasPrefix(line, target.file+" ") {
				found = true
				weights[line[strings.Index(line, "["):]] = true
				if len(line) > 100 {
					t.Errorf("line of %d characters: %s", len(line), line)
				}
			}
		}
		if !found {
			t.Errorf("%s is not in the output", target.file)
		}
		if _, err := os.Stat(filepath.Join(dir, target.file)); err != nil {
			t.Error(err)
		}
	}
	if len(weights) != 1 {
		t.Errorf("the formats show different weights:\n%s", &out)
	}
	if last := lines[len(lines)-1]; !strings.HasSuffix(last, "inspect "+filepath.Join(dir, "mnist.mag")) {
		t.Errorf("the last line does not say where the files are: %s", last)
	}
	// Once more, over what is there, and without a directory.
	for _, args := range [][]string{{"-dir", dir}, nil} {
		if status := run(args, &out, &errs); status != 0 || errs.Len() > 0 {
			t.Errorf("%q: status %d, %q", args, status, &errs)
		}
	}
}

func TestStatus(t *testing.T) {
	testhost.NeedMaps(t)
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name   string
		args   []string
		status int
		stdout string // parts
		stderr string
	}{
		{"help", []string{"--help"}, 0, "example:\n  quickstart -dir ", ""},
		{"short help", []string{"-h"}, 0, "usage: quickstart [-dir DIR]\n", ""},
		{"unknown option", []string{"-what"}, 2, "", "quickstart: flag provided but not defined: -what; usage: quickstart [-dir DIR]\n"},
		{"argument", []string{"models"}, 2, "", "no arguments are known but -dir; usage: quickstart [-dir DIR]\n"},
		{"no directory", []string{"-dir", file}, 1, "", "not a directory\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out, errs bytes.Buffer
			if status := run(c.args, &out, &errs); status != c.status {
				t.Errorf("status %d, want %d", status, c.status)
			}
			if !strings.Contains(out.String(), c.stdout) || (c.stdout == "") != (out.Len() == 0) {
				t.Errorf("standard output %q, want %q", &out, c.stdout)
			}
			if !strings.HasSuffix(errs.String(), c.stderr) || (c.stderr == "") != (errs.Len() == 0) {
				t.Errorf("standard error %q, want %q", &errs, c.stderr)
			}
		})
	}
}
