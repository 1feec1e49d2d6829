package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// switches is a file added to every rewritten package. Its function is called when a check's
// condition holds; it records that and reports whether the check is enabled. It must not allocate,
// since tests count allocations.
const switches = `package %s

import (
	"os"
	"strconv"
	"sync/atomic"
)

var (
	mutationOff, _ = strconv.Atoi(os.Getenv("WEIGHTMAP_MUTANT"))
	mutationList   = os.Getenv("WEIGHTMAP_MUTANT_TRACE")
	mutationSeen   [%d]atomic.Bool
)

func mutation(n int) bool {
	if mutationList != "" && !mutationSeen[n].Swap(true) {
		if f, err := os.OpenFile(mutationList, os.O_APPEND|os.O_WRONLY, 0); err == nil {
			f.WriteString(strconv.Itoa(n) + "\n")
			f.Close()
		}
	}
	return n != mutationOff
}
`

// build rewrites the chosen packages in a temporary directory, compiles their tests and lists them.
func build(dir string, chosen []target, checks []*check) (all []*test, err error) {
	overlay, err := rewrite(dir, checks)
	if err != nil {
		return nil, err
	}
	var packages []string
	for _, t := range chosen {
		packages = append(append(packages, t.dir), t.tests...)
	}
	slices.Sort(packages)
	for _, p := range slices.Compact(packages) {
		tests, err := compile(dir, p, overlay)
		if err != nil {
			return nil, fmt.Errorf("the tests of %s: %w", p, err)
		}
		all = append(all, tests...)
	}
	return all, nil
}

// rewrite writes the changed files and returns the path of the overlay that lists them.
func rewrite(dir string, checks []*check) (overlay string, err error) {
	files := map[string][]*check{}
	for _, c := range checks {
		files[c.file] = append(files[c.file], c)
	}
	replace := map[string]string{}
	write := func(path, text string) error {
		abs, err := filepath.Abs(path)
		replace[abs] = filepath.Join(dir, strings.ReplaceAll(path, string(filepath.Separator), "_"))
		return errors.Join(err, os.WriteFile(replace[abs], []byte(text), 0o600))
	}
	for path, list := range files {
		text, err := os.ReadFile(path)
		if err != nil {
			return "", err
		}
		own := fmt.Sprintf(switches, list[0].name, len(checks)+1)
		if err := errors.Join(write(path, switched(text, list)), write(filepath.Join(filepath.Dir(path), "mutation_switches.go"), own)); err != nil {
			return "", err
		}
	}
	j, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	overlay = filepath.Join(dir, "overlay.json")
	return overlay, os.WriteFile(overlay, j, 0o600)
}

// switched puts a switch on the checks of one file. The condition is still evaluated, because it
// may have side effects. Line numbers do not change.
func switched(text []byte, list []*check) string {
	slices.SortFunc(list, func(x, y *check) int { return x.from - y.from })
	var out strings.Builder
	at := 0
	for _, c := range list {
		fmt.Fprintf(&out, "%s((%s) && mutation(%d))", text[at:c.from], text[c.from:c.to], c.number)
		at = c.to
	}
	out.Write(text[at:])
	return out.String()
}

// compile compiles the tests of a package.
func compile(dir, pkg, overlay string) (all []*test, err error) {
	path := filepath.Join(dir, strings.ReplaceAll(pkg, "/", "_")+".test")
	cmd := exec.Command("go", "test", "-c", "-vet=off", "-overlay", overlay, "-o", path, "./"+pkg)
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%w\n%s", err, out)
	}
	if _, err := os.Stat(path); err != nil {
		return nil, nil // no tests
	}
	out, err := command(context.Background(), pkg, path, "-test.list", "^(Test|Example|Fuzz)").Output()
	for _, name := range strings.Fields(string(out)) {
		all = append(all, &test{pkg: pkg, program: path, name: name})
	}
	return all, err
}
