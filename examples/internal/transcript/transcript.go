// Package transcript tests command-line tools by all that they print.
package transcript

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	_ "github.com/weightmap/weightmap/internal/corpus" // defines -update
	"github.com/weightmap/weightmap/internal/expect"
)

// Of runs the lines of a file that begin with "$ " and the name of a tool, in a new directory that
// setup fills. It returns the file, and what it would be: the lines, each with what the command
// printed, a "! " before lines on standard error, and a status that is not 0. With -update it
// writes the file.
func Of(t *testing.T, path, tool string, setup func(), run func(ctx context.Context, args []string, stdout, stderr io.Writer) int) (want, got string) {
	t.Helper()
	path, err := filepath.Abs(path)
	expect.OK(t, err)
	want = string(expect.Read(t, path))
	t.Chdir(t.TempDir())
	setup()
	var b strings.Builder
	for line := range strings.Lines(want) {
		args, ok := strings.CutPrefix(line, "$ "+tool)
		if !ok {
			continue
		}
		b.WriteString(line)
		if status := run(t.Context(), strings.Fields(args), &b, marked{&b}); status != 0 {
			fmt.Fprintf(&b, "(status %d)\n", status)
		}
		b.WriteString("\n")
	}
	got = b.String()
	if flag.Lookup("update").Value.String() == "true" {
		expect.OK(t, os.WriteFile(path, []byte(got), 0o666))
		return got, got
	}
	return want, got
}

// marked writes lines with "! " before them.
type marked struct{ out *strings.Builder }

func (m marked) Write(p []byte) (int, error) {
	for line := range strings.Lines(string(p)) {
		m.out.WriteString("! " + line)
	}
	return len(p), nil
}
