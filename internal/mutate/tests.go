package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// test is one test function.
type test struct {
	program *program
	name    string
	took    time.Duration
}

// patience is the time that tests may take without a check, in addition to ten times what they take
// with it.
const patience = 10 * time.Second

// quick is the limit for tests that run together.
const quick = 300 * time.Millisecond

// command returns a command that runs the program in the directory where go test would, with a limit
// of 8 GB: without a check of a count, a file can request any amount of memory. Files that stopped
// tests leave behind lie in the temporary directory.
func (p *program) command(args ...string) *exec.Cmd {
	cmd := exec.Command("sh", append([]string{"-c", `ulimit -v 8388608; exec "$0" "$@"`, p.path}, args...)...)
	cmd.Dir = p.dir
	cmd.Env = append(os.Environ(), "TMPDIR="+filepath.Dir(p.path))
	cmd.WaitDelay = time.Second
	return cmd
}

// passes runs tests of one program, with a time limit.
func (p *program) passes(names []string, limit time.Duration, env ...string) error {
	cmd := p.command("-test.failfast", "-test.run", "^("+strings.Join(names, "|")+")$", "-test.timeout", limit.String())
	cmd.Env = append(cmd.Env, env...)
	ctx, cancel := context.WithTimeout(context.Background(), limit+5*time.Second)
	defer cancel()
	killed := exec.CommandContext(ctx, cmd.Path)
	killed.Args, killed.Dir, killed.Env, killed.WaitDelay = cmd.Args, cmd.Dir, cmd.Env, cmd.WaitDelay
	out, err := killed.CombinedOutput()
	if err != nil {
		err = fmt.Errorf("%w\n%s", err, out)
	}
	return err
}

// trace runs each test separately and records which checks it trips.
func (b *builder) trace(log io.Writer) error {
	list := filepath.Join(b.dir, "trace")
	for _, p := range b.programs {
		for _, t := range p.tests {
			if err := os.WriteFile(list, nil, 0o600); err != nil {
				return err
			}
			begin := time.Now()
			if err := p.passes([]string{t.name}, 10*time.Minute, "WEIGHTMAP_MUTANT_TRACE="+list); err != nil {
				return fmt.Errorf("%s of %s fails with all checks in place: %w", t.name, p.dir, err)
			}
			t.took = time.Since(begin)
			tripped, err := os.ReadFile(list)
			if err != nil {
				return err
			}
			for _, f := range strings.Fields(string(tripped)) {
				n, err := strconv.Atoi(f)
				if err != nil {
					return err
				}
				for len(b.trips) < n {
					b.trips = append(b.trips, nil)
				}
				if !slices.Contains(b.trips[n-1], t) {
					b.trips[n-1] = append(b.trips[n-1], t)
				}
			}
			fmt.Fprintf(log, "%s of %s: %d lines, %v\n", t.name, p.dir, strings.Count(string(tripped), "\n"), t.took.Round(time.Millisecond))
		}
	}
	return nil
}

// verdict is the result of a mutant.
type verdict string

const (
	untripped verdict = "untripped" // no test makes the condition true
	survived  verdict = "survived"
	caught    verdict = "caught"
)

// try runs the tests that trip check i with the check disabled, the quick ones first.
func (b *builder) try(i int) verdict {
	if i >= len(b.trips) || len(b.trips[i]) == 0 {
		return untripped
	}
	tests := slices.SortedFunc(slices.Values(b.trips[i]), func(x, y *test) int { return int(x.took - y.took) })
	for len(tests) > 0 {
		p, names, took := tests[0].program, []string{tests[0].name}, tests[0].took
		var rest []*test
		for _, t := range tests[1:] {
			if t.program == p && t.took < quick && took < quick {
				names, took = append(names, t.name), took+t.took/4
			} else {
				rest = append(rest, t)
			}
		}
		err := p.passes(names, patience+10*took, fmt.Sprintf("WEIGHTMAP_MUTANT=%d", i+1))
		if err != nil && !errors.Is(err, exec.ErrNotFound) {
			return caught
		}
		tests = rest
	}
	return survived
}
