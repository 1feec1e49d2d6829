//go:build unix

package all_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"syscall"
	"testing"

	"github.com/weightmap/weightmap/internal/disk"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/internal/testhost"
)

// publishingChild says what a child process writes: a family, a kind, a directory, a generation, a size, how often, and
// the number of the call at which the process ends, 0 for none.
const publishingChild = "WEIGHTMAP_TEST_PUBLISHING"

// publishKilled is the child's whole life.
func publishKilled(args []string) {
	numbers := make([]int, 4)
	for i := range numbers {
		n, err := strconv.Atoi(args[3+i])
		if err != nil {
			panic(err)
		}
		numbers[i] = n
	}
	generation, size, times, last := numbers[0], numbers[1], numbers[2], numbers[3]
	calls := 0
	disk.SetHook(func(c disk.Call) error {
		calls++
		if calls == last {
			fmt.Print(c.Name)
			syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		}
		return nil
	})
	for _, f := range families() {
		for i := range f.kinds {
			if f.name != args[0] || f.kinds[i].name != args[1] {
				continue
			}
			for range times {
				err := f.write(&f.kinds[i], args[2], edition{generation, size})
				if err != nil && !errors.Is(err, fs.ErrExist) {
					fmt.Println(err)
					os.Exit(1)
				}
			}
		}
	}
	os.Exit(0)
}

// child returns a process that writes an edition that many times, and ends at a call.
func (f *family) child(k *kind, dir string, v edition, times, last int) *exec.Cmd {
	c := exec.Command(os.Args[0])
	what := fmt.Sprintf("%s|%s|%s|%d|%d|%d|%d", f.name, k.name, dir, v.Generation, v.Size, times, last)
	c.Env = append(os.Environ(), publishingChild+"="+what)
	return c
}

// wasKilled reports whether a process ended by SIGKILL.
func wasKilled(err error) bool {
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		return false
	}
	status, ok := exit.Sys().(syscall.WaitStatus)
	return ok && status.Signaled() && status.Signal() == syscall.SIGKILL
}

// TestPublishingKilled is TestPublishingFails with processes that are killed, as by shard-kill.sh of the shared cases. Without WEIGHTMAP_NIGHTLY only shards over
// shards are written so.
func TestPublishingKilled(t *testing.T) {
	testhost.NeedChildren(t)
	if testhost.Race {
		t.Skip("processes take long with the race detector, which sees what they do in TestPublishingFails")
	}
	for _, r := range replacements() {
		if r.isRefused() {
			continue
		}
		t.Run(r.String(), func(t *testing.T) {
			if r.from == nil || r.from.name != "shards" || r.to.name != "shards" {
				testhost.NeedNightly(t, "a thousand processes")
			}
			k := 1
			for ; r.isKilled(t, k); k++ {
			}
			if k < 7 {
				t.Errorf("the process was killed at %d calls only", k-1)
			}
		})
	}
}

// isKilled has a process die at call k, and reports whether there is such a call.
func (r *replacement) isKilled(t *testing.T, k int) bool {
	t.Helper()
	dir := r.prepare(t)
	defer os.RemoveAll(dir)
	out, err := r.child(r.to, dir, r.new, 1, k).Output()
	if err == nil {
		return false
	}
	if !wasKilled(err) {
		t.Fatalf("call %d: %v: %s", k, err, out)
	}
	when := fmt.Sprintf("killed at call %d (%s)", k, out)
	r.wantOneOf(t, dir, when, r.old, r.new)
	r.recover(t, dir, when)
	return true
}

// TestPublishingRace has two processes write the same model again and again, of the same kind and of two kinds, of which
// each dies now and then, while this process opens it in a loop: "pair", "kill" and "race" of shard.go of the shared
// cases.
func TestPublishingRace(t *testing.T) {
	testhost.NeedChildren(t)
	testhost.NeedNightly(t, "some thousand writes by processes")
	const rounds, times = 40, 10
	for _, f := range families() {
		for a := range f.kinds {
			for b := range f.kinds[:a+1] {
				first, second := &f.kinds[a], &f.kinds[b]
				if first.once || second.once {
					continue
				}
				t.Run(fmt.Sprintf("%s/%s and %s", f.name, first.name, second.name), func(t *testing.T) {
					dir := testhost.FastDir(t)
					expect.OK(t, f.write(first, dir, edition{1, 3}))
					reader := f.startReader(t, dir, edition{1, 3}, edition{2, 3}, edition{3, 4})
					var writers sync.WaitGroup
					for i, k := range []*kind{first, second} {
						writers.Go(func() {
							for n := range rounds {
								last := 0
								if n%3 == 0 {
									last = 20 + 7*n%200
								}
								out, err := f.child(k, dir, edition{2 + i, 3 + i}, times, last).Output()
								if err != nil && !wasKilled(err) {
									t.Errorf("writer %d: %v: %s", i, err, out)
								}
							}
						})
					}
					writers.Wait()
					t.Logf("the model was opened %d times, and replaced too often %d times", reader.opened(), reader.changed)
					f.wantOneOf(t, dir, "at the end", edition{1, 3}, edition{2, 3}, edition{3, 4})
				})
			}
		}
	}
}
