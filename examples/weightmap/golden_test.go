package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weightmap/weightmap/format"

	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/internal/memory"
	"github.com/weightmap/weightmap/internal/testhost"
)

// TestEveryCommand: each explains itself on standard output, with an example of its own,
// and a wrong option is one line on standard error.
func TestEveryCommand(t *testing.T) {
	for _, c := range commands {
		name := strings.TrimPrefix(c.Name, "weightmap ")
		t.Run(name, func(t *testing.T) {
			for _, help := range []string{"-h", "-help", "--help"} {
				out, errs := tool(t, 0, name, help)
				contains(t, out, strings.TrimSpace("usage: "+c.Name+" "+c.Args)+"\n\n"+c.About+"\n", "\n  -help ", "\nexample:\n  "+c.Name)
				if errs != "" {
					t.Errorf("help on standard error: %q", errs)
				}
				for line := range strings.Lines(out) {
					if len(line) > 161 {
						t.Errorf("a line of %d characters: %s", len(line), line)
					}
				}
			}
			wrong := [][]string{{"-no-such-option"}}
			if c.Args != "" && c != helpCommand {
				wrong = append(wrong, nil) // no arguments
			}
			for _, args := range wrong {
				out, errs := tool(t, 2, append([]string{name}, args...)...)
				if out != "" || strings.Count(errs, "\n") != 1 || !strings.HasSuffix(errs, strings.TrimSpace("; usage: "+c.Name+" "+c.Args)+"\n") {
					t.Errorf("%q: %q, %q", args, out, errs)
				}
			}
		})
	}
}

// TestGolden runs the commands in testdata/commands.txt and compares all that they print.
func TestGolden(t *testing.T) {
	testhost.NeedMaps(t)
	want := string(expect.Read(t, "testdata/commands.txt"))
	dir := filepath.Dir(model(t, "mag", "m.mag"))
	expect.OK(t, os.Rename(waves(t, "net.wia", convnet()), filepath.Join(dir, "net.wia")))
	t.Chdir(dir)
	put(t, "", "w.safetensors", format.Plan{}, matrix("w"))
	var got strings.Builder
	for line := range strings.Lines(want) {
		args, ok := strings.CutPrefix(line, "$ weightmap ")
		if !ok {
			continue
		}
		got.WriteString(line)
		if status := run(t.Context(), strings.Fields(args), &got, &got); status != 0 {
			fmt.Fprintf(&got, "(status %d)\n", status)
		}
		got.WriteString("\n")
	}
	if !memory.LittleEndian {
		want = swapped(want)
	}
	expect.Equal(t, want, got.String())
}

// swapped is what is printed on a big-endian host, which has no elements of several bytes
// as they are in the file.
func swapped(text string) string {
	lines := strings.SplitAfter(text, "\n")
	for i, line := range lines {
		if !strings.Contains(line, " int8 ") {
			lines[i] = strings.Replace(line, "zero-copy", "by copy", 1)
		}
	}
	objects := strings.SplitAfter(strings.Join(lines, ""), "}")
	for i, object := range objects {
		if !strings.Contains(object, `"int8"`) {
			objects[i] = strings.NewReplacer(`"zero_copy": true`, `"zero_copy": false`, `"zero_copy":true`, `"zero_copy":false`).Replace(object)
		}
	}
	return strings.Join(objects, "")
}
