package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weightmap/weightmap/examples/cli"
	"github.com/weightmap/weightmap/internal/expect"
)

// TestNoArgumentIsQuoted: no command shows a query, a user or a password of its arguments on standard error, also of addresses that it
// does not read, and of malformed ones.
func TestNoArgumentIsQuoted(t *testing.T) {
	const user, password, query, fragment = "theuser", "thepassword", "thequery", "thefragment"
	dir := t.TempDir()
	file := filepath.Join(dir, "m.safetensors")
	expect.OK(t, os.WriteFile(file, []byte("\x02\x00\x00\x00\x00\x00\x00\x00{}"), 0o644))
	t.Chdir(dir)
	for _, scheme := range []string{"https://", "HTTPS://", "s3://", "file://", "ftp://", "hf://", "http:/", "//", ""} {
		a := scheme + user + ":" + password + "@127.0.0.1:1/m.gguf?token=" + query + "#" + fragment
		for _, c := range commands {
			for _, args := range [][]string{{a}, {file, a}, {a, file}, {a, a, a}, {"-o", a, file}, {"-with", a, file}, {"-trust", a, file}, {"-signature", a, file}} {
				if scheme == "https://" && len(args) > 1 && c.Name != "weightmap convert" {
					continue // attempts to connect take their time
				}
				args = append([]string{c.Name[strings.LastIndex(c.Name, " ")+1:]}, args...)
				var out, errs bytes.Buffer
				run(t.Context(), args, &out, cli.Redacting(&errs, args))
				for _, secret := range []string{user, password, query, fragment} {
					if strings.Contains(errs.String(), secret) {
						t.Errorf("%q: standard error has %s: %s", args, secret, errs.String())
					}
				}
			}
		}
	}
}
