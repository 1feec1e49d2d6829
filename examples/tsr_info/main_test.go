package main

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weightmap/weightmap/internal/expect"
)

// file writes a TSR file of zeros and goes to its directory.
func file(t *testing.T, path string, dtype, ndim int32, dims [4]int32, size int) {
	t.Helper()
	b := []byte("TSR!")
	n := int32(1)
	for _, d := range dims {
		n *= d
	}
	for _, v := range []int32{1, 64, 0, dtype, ndim, dims[0], dims[1], dims[2], dims[3], n, 0, 0, 0, 0, 0} {
		b = binary.LittleEndian.AppendUint32(b, uint32(v))
	}
	if err := os.WriteFile(path, append(b, make([]byte, size)...), 0o666); err != nil {
		t.Fatal(err)
	}
}

func TestInfo(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, dir := range []string{"model", "hostile"} {
		if err := os.Mkdir(dir, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	file(t, "-h.tsr", 1, 4, [4]int32{2, 3, 4, 5}, 480)
	file(t, filepath.Join("hostile", "\x1b[2J.tsr"), 1, 4, [4]int32{2, 3, 4, 5}, 480)
	file(t, "data.tsr", 1, 4, [4]int32{2, 3, 4, 5}, 480)
	file(t, "scalar.tsr", 3, 0, [4]int32{1, 1, 1, 1}, 4)
	file(t, "cube.tsr", 2, 3, [4]int32{1, 2, 0, 4}, 0)
	file(t, filepath.Join("model", "b.tsr"), 2, 1, [4]int32{1, 1, 1, 3}, 3)
	file(t, filepath.Join("model", "a.tsr"), 1, 2, [4]int32{1, 1, 3, 4}, 48)
	file(t, "short.tsr", 1, 4, [4]int32{2, 3, 4, 5}, 479)

	const data = "File: data.tsr\nFormat: TSR v1\nType: FP32\nShape: [2, 3, 4, 5] (N=2, C=3, H=4, W=5)\nElements: 120\nSize: 480 bytes\n"
	const scalar = "File: scalar.tsr\nFormat: TSR v1\nType: INT32\nShape: [] (scalar)\nElements: 1\nSize: 4 bytes\n"
	const cube = "File: cube.tsr\nFormat: TSR v1\nType: INT8\nShape: [2, 0, 4] (C=2, H=0, W=4)\nElements: 0\nSize: 0 bytes\n"
	a := "File: " + filepath.Join("model", "a.tsr") + "\nFormat: TSR v1\nType: FP32\nShape: [3, 4] (H=3, W=4)\nElements: 12\nSize: 48 bytes\n"
	b := "File: " + filepath.Join("model", "b.tsr") + "\nFormat: TSR v1\nType: INT8\nShape: [3] (W=3)\nElements: 3\nSize: 3 bytes\n"
	const help = "usage: tsr_info FILE.tsr...\n\nShow type, shape and size of TSR files; a directory is shown file by file.\n\n" +
		"options:\n  -help  print this text\n\nexample:\n  tsr_info data.tsr\n"
	for _, c := range []struct {
		name   string
		args   []string
		status int
		stdout string
		stderr string // contained in it
	}{
		{"as the specification shows", []string{"data.tsr"}, 0, data, ""},
		{"several", []string{"scalar.tsr", "cube.tsr"}, 0, scalar + "\n" + cube, ""},
		{"directory", []string{"model"}, 0, a + "\n" + b, ""},
		{"no arguments", nil, 2, "", "usage"},
		{"help", []string{"--help"}, 0, help, ""},
		{"hostile name", []string{"hostile"}, 0, strings.Replace(data, "data.tsr", filepath.Join("hostile", `\u001b[2J.tsr`), 1), ""},
		{"file that looks like an option", []string{"--", "-h.tsr"}, 0, strings.Replace(data, "data", "-h", 1), ""},
		{"missing", []string{"none.tsr"}, 1, "", "none.tsr"},
		{"bad and good", []string{"short.tsr", "data.tsr"}, 1, data, "tsr_info: tsr: short.tsr: at 0x21f: data: truncated"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			if got := run(t.Context(), c.args, &stdout, &stderr); got != c.status {
				t.Errorf("status %d, want %d", got, c.status)
			}
			expect.Equal(t, c.stdout, stdout.String())
			if !strings.Contains(stderr.String(), c.stderr) || strings.Count(stderr.String(), "\n") != min(1, c.status)+strings.Count(stderr.String(), "usage:") {
				t.Errorf("stderr %q", stderr.String())
			}
		})
	}
}
