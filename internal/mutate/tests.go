package main

import (
	"cmp"
	"context"
	"fmt"
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
	pkg     string // directory
	program string // the test binary of the package, with a switch for every check
	name    string
	took    time.Duration
}

// patience is the time that tests may take without a check, in addition to ten times what they take
// with it.
const patience = 10 * time.Second

// command returns a command that runs a test binary in the directory where go test would, with all
// inputs (testhost.Nightly) and a limit of 8 GB: without a check of a count, a file can request any
// amount of memory. Files that stopped tests leave behind lie in the temporary directory.
func command(ctx context.Context, pkg, program string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "sh", append([]string{"-c", `ulimit -v 8388608; exec "$0" "$@"`, program}, args...)...)
	cmd.Dir = pkg
	cmd.Env = append(os.Environ(), "TMPDIR="+filepath.Dir(program), "WEIGHTMAP_NIGHTLY=1")
	cmd.WaitDelay = time.Second
	return cmd
}

// passes runs the test, with a time limit.
func (t *test) passes(limit time.Duration, env string) error {
	ctx, cancel := context.WithTimeout(context.Background(), limit+5*time.Second)
	defer cancel()
	cmd := command(ctx, t.pkg, t.program, "-test.failfast", "-test.run", "^"+t.name+"$", "-test.timeout", limit.String())
	cmd.Env = append(cmd.Env, env)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%w\n%s", err, out)
	}
	return nil
}

// trace runs the test and records which checks it trips.
func (t *test) trace(checks []*check) error {
	list := filepath.Join(filepath.Dir(t.program), "trace")
	if err := os.WriteFile(list, nil, 0o600); err != nil {
		return err
	}
	begin := time.Now()
	if err := t.passes(10*time.Minute, "WEIGHTMAP_MUTANT_TRACE="+list); err != nil {
		return fmt.Errorf("%s of %s fails with all checks in place: %w", t.name, t.pkg, err)
	}
	t.took = time.Since(begin)
	tripped, err := os.ReadFile(list)
	if err != nil {
		return err
	}
	for f := range strings.FieldsSeq(string(tripped)) {
		n, err := strconv.Atoi(f)
		if err != nil {
			return err
		}
		if c := checks[n-1]; !slices.Contains(c.tests, t) { // subprocesses write the list too
			c.tests = append(c.tests, t)
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

// try runs the tests that trip the check with the check disabled, the quick ones first.
func (c *check) try() verdict {
	if len(c.tests) == 0 {
		return untripped
	}
	slices.SortFunc(c.tests, func(x, y *test) int { return cmp.Compare(x.took, y.took) })
	for _, t := range c.tests {
		if t.passes(patience+10*t.took, fmt.Sprintf("WEIGHTMAP_MUTANT=%d", c.number)) != nil {
			return caught
		}
	}
	return survived
}
