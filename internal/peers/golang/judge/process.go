package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"time"
)

// addresses limits the address space of a reader in kB, so that an excessive allocation fails on
// every machine.
var addresses = "8388608"

// read makes the reader open a file. The fault is one that ends the process.
func (r *reader) read(path string, limit time.Duration) (a answer, f fault, detail string) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	script := "ulimit -v " + addresses + ` 2>/dev/null; exec "$0" "$@"`
	cmd := exec.CommandContext(ctx, "sh", slices.Concat([]string{"-c", script}, r.command, []string{path})...)
	var errors bytes.Buffer
	cmd.Dir, cmd.Stderr = r.dir, &errors
	out, err := cmd.Output()
	if err == nil {
		err = json.Unmarshal(out, &a)
	}
	switch {
	case ctx.Err() != nil:
		return a, hangs, "no answer in " + limit.String()
	case err == nil:
		return a, "", a.Error
	}
	if line := reason.FindString(errors.String()); line != "" {
		detail = line
	} else {
		detail = err.Error()
	}
	if strings.Contains(detail, "out of memory") {
		return a, swells, detail
	}
	return a, crashes, detail
}

// reason matches the line of a reader's output that says why it ended.
var reason = regexp.MustCompile(`.*(panic: |fatal error: |out of memory|FATAL ERROR: |Error).*`)
