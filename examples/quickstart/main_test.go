package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/weightmap/weightmap/examples/digits"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/internal/testhost"
)

// TestRun checks that every format is written and read with the same result, that the output fits
// on a screen, and that missing directories are created.
func TestRun(t *testing.T) {
	var out, errs bytes.Buffer
	dir := filepath.Join(t.TempDir(), "new", "models")
	if status := run([]string{"-dir", dir}, &out, &errs); status != 0 || errs.Len() > 0 {
		t.Fatalf("status %d, %q", status, &errs)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) > 26 {
		t.Errorf("%d lines do not fit on a screen", len(lines))
	}
	for _, file := range files {
		i := slices.IndexFunc(lines, func(line string) bool { return strings.HasPrefix(line, file.name+" ") })
		if i < 0 {
			t.Fatalf("%s is not in the output", file.name)
		}
		if !strings.Contains(lines[i], " 4 (") || utf8.RuneCountInString(lines[i]) > 100 {
			t.Errorf("another digit, or a long line: %s", lines[i])
		}
		if _, err := os.Stat(filepath.Join(dir, file.name)); err != nil {
			t.Error(err)
		}
	}
	if last := lines[len(lines)-1]; !strings.HasSuffix(last, "inspect "+filepath.Join(dir, "digits.wia")) {
		t.Errorf("the last line does not say where the files are: %s", last)
	}
	// Run again over the existing files.
	if status := run([]string{"-dir", dir}, &out, &errs); status != 0 || errs.Len() > 0 {
		t.Errorf("again: status %d, %q", status, &errs)
	}
}

// TestPicture checks the layout: image and bars side by side, or one below the other in a narrow
// terminal, with a smaller image in a very narrow one.
func TestPicture(t *testing.T) {
	var image digits.Image
	for y := 3; y < 13; y++ {
		for x := 5; x < 8; x++ {
			image[y*digits.Size+x] = 100 // the darkest there is
		}
	}
	image[7*digits.Size+6] = 50
	said := digits.Probabilities{1: 0.75, 2: 1. / 8 / bar, 3: 0.25}
	const wide, narrow = "  ██████", "  ███"
	for _, c := range []struct {
		width  int
		first  string // the first line
		fourth string // has the paler pixel behind it
		lines  int
	}{
		{80, wide + "     0   0.0 %", wide + "     3  25.0 % ██████", 10},
		{2 + 6 + gap + line, wide + "     0   0.0 %", wide + "     3  25.0 % ██████", 10},
		{2 + 6 + gap + line - 1, wide, wide, 21},
		{8, wide, wide, 21},
		{7, narrow, narrow, 21},
	} {
		var out bytes.Buffer
		if err := picture(&out, &image, &said, c.width); err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
		if len(lines) != c.lines || lines[0] != c.first || lines[3] != c.fourth || !strings.Contains(lines[4], "▒") {
			t.Errorf("width %d:\n%s", c.width, &out)
		}
	}
	want := []string{"0   0.0 % ", "1  75.0 % ██████████████████", "2   0.5 % ▏", "3  25.0 % ██████"}
	expect.Equal(t, want, bars(&said)[:4])
}

func TestStatus(t *testing.T) {
	testhost.NeedMaps(t)
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	const usage = "\nusage: quickstart [-digit N] [-seed N] [-dir DIR]\n"
	for _, c := range []struct {
		name   string
		args   []string
		status int
		stdout string // parts
		stderr string
	}{
		{"help", []string{"--help"}, 0, "example:\n  quickstart -digit ", ""},
		{"unknown option", []string{"-what"}, 2, "", "quickstart: unknown option -what" + usage},
		{"argument", []string{"models"}, 2, "", "no arguments are known but options" + usage},
		{"no digit", []string{"-digit", "10"}, 2, "", "10 is no digit" + usage},
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
