//go:build unix

package all_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/weightmap/weightmap/internal/disk"
	"github.com/weightmap/weightmap/internal/testhost"
)

// killedSave has the name of a saving, the path of its target and the number of the call
// at which the process ends.
const killedSave = "WEIGHTMAP_TEST_KILLED"

func TestMain(m *testing.M) {
	if what := os.Getenv(killedSave); what != "" {
		saveKilled(strings.Split(what, "|"))
	}
	if what := os.Getenv(publishingChild); what != "" {
		publishKilled(strings.Split(what, "|"))
	}
	os.Exit(m.Run())
}

// saveKilled is the child's whole life.
func saveKilled(args []string) {
	all, n := savings(), 0
	i := slices.IndexFunc(all, func(s saving) bool { return s.name == args[0] })
	k, err := strconv.Atoi(args[2])
	all[i].hook(func(c disk.Call) error {
		if n++; n == k {
			fmt.Print(c.Name)
			syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		}
		return nil
	})
	if err == nil {
		err = all[i].save(args[1], 1)
	}
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	os.Exit(0)
}

// TestSavingKilled ends a process at each call of each writer. Without NeedNightly it does so for one writer:
// TestSavingFails stops all of them at each call in this process.
func TestSavingKilled(t *testing.T) {
	testhost.NeedChildren(t)
	if testhost.Race {
		t.Skip("processes take long with the race detector, which sees what they do in TestSavingFails")
	}
	for _, s := range savings() {
		t.Run(s.name, func(t *testing.T) {
			if s.name != "safetensors" {
				testhost.NeedNightly(t, "hundreds of processes")
			}
			g := newStage(t, &s, s.onlyNew)
			k := 1
			for ; g.killed(k); k++ {
			}
			t.Logf("%d kills", k-1)
			if k < 4 {
				t.Errorf("the process was killed at %d calls only", k-1)
			}
		})
	}
}

// killed has a process die at call k, and reports whether there is such a call.
func (g *stage) killed(k int) bool {
	g.t.Helper()
	dir := g.copied()
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), killedSave+"="+strings.Join([]string{g.name, filepath.Join(dir, g.file), strconv.Itoa(k)}, "|"))
	call, err := c.Output()
	if err == nil {
		return false
	}
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		g.t.Fatalf("call %d: %v: %s", k, err, call)
	}
	when := fmt.Sprintf("killed at call %d (%s)", k, call)
	g.whole(dir, when)
	g.tidy(dir, when)
	return true
}
