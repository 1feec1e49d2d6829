package export

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weightmap/weightmap/examples/cli"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/tensor"
)

// vector returns a TSR file with an INT8 vector.
func vector(values ...byte) []byte {
	n := uint32(len(values))
	b := []byte("TSR!")
	for _, v := range []uint32{1, 64, 0, 2, 1, 1, 1, 1, n, n, 0, 0, 0, 0, 0} {
		b = binary.LittleEndian.AppendUint32(b, v)
	}
	return append(b, values...)
}

func head(t tensor.Info) ([]byte, error) {
	if t.Size == 0 {
		return nil, errors.New("empty")
	}
	return []byte(t.Name + ":"), nil
}

func TestRun(t *testing.T) {
	dir := t.TempDir()
	in := func(name string, b []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, b, 0o666); err != nil {
			t.Fatal(err)
		}
		return path
	}
	good, out := in("good.tsr", vector(1, 2, 3)), filepath.Join(dir, "out")
	for _, c := range []struct {
		name   string
		args   []string
		status int
		stdout string
		stderr string // a substring of stderr
		out    string // "old" if it must be unchanged
	}{
		{"good", []string{good, out}, 0, "", "", "good:\x01\x02\x03"},
		{"no arguments", nil, 2, "", "usage: prog IN.tsr OUT", "old"},
		{"help", []string{"-h"}, 0, "usage: prog IN.tsr OUT\n\nConvert.\n\noptions:\n  -help  print this text\n\nexample:\n  prog a b\n", "", "old"},
		{"one argument", []string{good}, 2, "", "usage", "old"},
		{"standard output", []string{good, "-"}, 2, "", "cannot write to standard output", "old"},
		{"directory", []string{dir, out}, 1, "", "is a directory", "old"},
		{"short", []string{in("short.tsr", vector(1, 2, 3)[:66]), out}, 1, "", "at 0x42: data: truncated", "old"},
		{"refused by the header", []string{in("empty.tsr", vector()), out}, 1, "", "empty.tsr: empty", "old"},
		{"no place for the result", []string{good, filepath.Join(dir, "none", "out")}, 1, "", "none", "old"},
	} {
		t.Run(c.name, func(t *testing.T) {
			in("out", []byte("old"))
			var stdout, stderr bytes.Buffer
			if got := Run(t.Context(), &cli.Tool{Name: "prog", Args: "IN.tsr OUT", About: "Convert.", Example: "prog a b"}, c.args, &stdout, &stderr, head); got != c.status {
				t.Errorf("status %d, want %d", got, c.status)
			}
			if !strings.Contains(stderr.String(), c.stderr) || strings.Count(stderr.String(), "\n") != min(1, c.status)+strings.Count(stderr.String(), "usage:") {
				t.Errorf("stderr %q", stderr.String())
			}
			expect.Equal(t, c.stdout, stdout.String())
			got, err := os.ReadFile(out)
			if diff := cmp.Diff(c.out, string(got)); diff != "" || err != nil {
				t.Error(diff, err)
			}
			if left, _ := filepath.Glob(filepath.Join(dir, ".*.tmp")); left != nil {
				t.Errorf("left behind: %q", left)
			}
		})
	}
}
