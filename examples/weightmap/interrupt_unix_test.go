//go:build unix

package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/weightmap/weightmap/internal/expect"
)

// sparse writes a safetensors file of zeros, which takes no room on most disks.
func sparse(t *testing.T, path string, sizes ...int64) {
	t.Helper()
	header, end := "", int64(0)
	for i, size := range sizes {
		header += fmt.Sprintf(`,"w%d":{"dtype":"F32","shape":[%d,1024],"data_offsets":[%d,%d]}`, i, size/4096, end, end+size)
		end += size
	}
	header = "{" + header[1:] + "}"
	header += strings.Repeat(" ", -len(header)&7)
	expect.OK(t, os.WriteFile(path, append(binary.LittleEndian.AppendUint64(nil, uint64(len(header))), header...), 0o666))
	expect.OK(t, os.Truncate(path, int64(8+len(header))+end))
}

// TestInterrupt: an interrupt ends each command, with one line and status 130, and leaves
// nothing. The commands are at work by then: they have read their key, and where they
// write, there is a temporary file.
func TestInterrupt(t *testing.T) {
	if testing.Short() {
		t.Skip("it writes some hundred megabytes")
	}
	program := inPath(t)
	t.Chdir(t.TempDir())
	sizes := slices.Repeat([]int64{16 << 20}, 20)
	sparse(t, "m.safetensors", sizes...)
	sparse(t, "n.safetensors", sizes...)
	sparse(t, "s.safetensors", sizes[:10]...)
	if err := syscall.Mkfifo("key", 0o600); err != nil {
		t.Skip(err)
	}
	private, _ := pair(t, "ed25519")
	tool(t, 0, "convert", "s.safetensors", "s.mle")
	before := listing(t, ".")
	for _, tt := range []struct {
		name, line string
		writes     bool
		want       string
	}{
		{"convert", "convert m.safetensors o.mag", true, "interrupted: o.mag was not written"},
		{"convert and compress", "convert -compress zstd -level 9 m.safetensors o.mle", true, "interrupted: o.mle was not written"},
		{"convert to a directory", "convert -lossy m.safetensors o.tsr/", true, "interrupted: o.tsr/ was not written"},
		{"split", "split -max-shard 32MB m.safetensors o.safetensors", true, "interrupted: o.safetensors was not written"},
		{"set", "set m.safetensors o.safetensors a=b", true, "interrupted: o.safetensors was not written"},
		{"sign", "sign -with " + private + " s.mle -o o.mle", false, "interrupted: o.mle was not written"},
		{"diff", "diff m.safetensors n.safetensors", false, "interrupted"},
		{"verify", "verify s.mle s.mle s.mle s.mle", false, "interrupted"},
		{"a page", "inspect -html m.safetensors -o o.html", true, "interrupted: o.html was not written"},
		{"sums", "inspect -json -sha256 m.safetensors", false, "interrupted"},
		{"statistics", "inspect -stats m.safetensors", false, "interrupted"},
		{"bench", "bench m.safetensors", false, "interrupted"},
		{"cat", "cat m.safetensors w0", false, "interrupted"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
				status, errs := interrupted(t, program, strings.Fields(tt.line), tt.writes, signal)
				if diff := cmp.Diff("weightmap: "+tt.want+"\n", errs) + cmp.Diff(before, listing(t, ".")); status != 130 || diff != "" {
					t.Errorf("%v: status %d (-want +got):\n%s", signal, status, diff)
				}
			}
		})
	}
}

// interrupted runs the program until it has its key, and a temporary file if it writes, sends
// a signal, and returns the status and what went to standard error. Nobody reads its standard output.
func interrupted(t *testing.T, program string, args []string, writes bool, signal os.Signal) (int, string) {
	t.Helper()
	c := exec.CommandContext(t.Context(), program, append(args, "-key", "@key")...)
	var errs bytes.Buffer
	c.Stderr = &errs
	out, stdout, err := os.Pipe()
	expect.OK(t, err)
	defer out.Close()
	defer stdout.Close()
	c.Stdout = stdout
	expect.OK(t, c.Start())
	key, err := os.OpenFile("key", os.O_WRONLY, 0) // returns when the program opens it
	expect.OK(t, err)
	if _, err := io.WriteString(key, secretHex); err != nil {
		t.Fatal(err)
	}
	key.Close()
	for writes {
		if temporary, _ := filepath.Glob(".*.tmp"); len(temporary) > 0 {
			break
		}
		time.Sleep(time.Millisecond)
	}
	expect.OK(t, c.Process.Signal(signal))
	_ = c.Wait()
	return c.ProcessState.ExitCode(), errs.String()
}
