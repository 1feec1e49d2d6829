package main

import (
	"encoding/json"
	"fmt"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// findAll lists the checks of the chosen packages. It looks for functions that make errors in all
// packages, since they call each other.
func findAll(all, chosen []target) ([]*check, error) {
	fset, r := token.NewFileSet(), known()
	sources := map[string][]source{}
	for before := -1; before != len(r); {
		before = len(r)
		for _, t := range all {
			if sources[t.dir] == nil {
				s, err := load(fset, t.dir)
				if err != nil {
					return nil, err
				}
				sources[t.dir] = s
			}
			r.learn(sources[t.dir])
		}
	}
	var checks []*check
	for _, t := range chosen {
		checks = append(checks, find(fset, t.dir, sources[t.dir], r)...)
	}
	return checks, nil
}

// program is the test binary of a package with a switch for every check.
type program struct {
	dir, path string
	tests     []*test
}

// builder holds the programs and their temporary directory.
type builder struct {
	dir      string
	programs []*program
	trips    [][]*test // by check: the tests that trip it
}

func (b *builder) remove() { os.RemoveAll(b.dir) }

// switches is a file added to every rewritten package. Its function is called when a check's condition
// holds; it records that and reports whether the check is enabled. It must not allocate, since tests
// count allocations.
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

// build rewrites the chosen packages in a temporary directory and compiles their tests.
func build(chosen []target, checks []*check) (*builder, error) {
	dir, err := os.MkdirTemp("", "mutate")
	if err != nil {
		return nil, err
	}
	b := &builder{dir: dir}
	overlay, err := b.rewrite(checks)
	if err == nil {
		var packages []string
		for _, t := range chosen {
			packages = append(packages, t.dir)
			packages = append(packages, t.tests...)
		}
		slices.Sort(packages)
		for _, p := range slices.Compact(packages) {
			if err = b.compile(p, overlay); err != nil {
				break
			}
		}
	}
	if err != nil {
		b.remove()
		return nil, err
	}
	return b, nil
}

// rewrite writes the changed files and returns the path of the overlay that lists them.
func (b *builder) rewrite(checks []*check) (overlay string, err error) {
	replace := map[string]string{}
	files := map[string][]int{}
	for i, c := range checks {
		files[c.file] = append(files[c.file], i)
	}
	keep := func(path, text string) error {
		abs, err := filepath.Abs(path)
		if err != nil {
			return err
		}
		if replace[abs] == "" {
			replace[abs] = filepath.Join(b.dir, fmt.Sprintf("%d.go", len(replace)))
		}
		return os.WriteFile(replace[abs], []byte(text), 0o600)
	}
	for path, list := range files {
		text, err := os.ReadFile(path)
		if err != nil {
			return "", err
		}
		if err := keep(path, switched(text, checks, list)); err != nil {
			return "", err
		}
		if err := keep(filepath.Join(filepath.Dir(path), "mutation_switches.go"), fmt.Sprintf(switches, checks[list[0]].name, len(checks)+1)); err != nil {
			return "", err
		}
	}
	overlay = filepath.Join(b.dir, "overlay.json")
	j, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	return overlay, os.WriteFile(overlay, j, 0o600)
}

// switched puts a switch on the checks of one file. The condition is still evaluated, because it may
// have side effects. Line numbers do not change.
func switched(text []byte, checks []*check, list []int) string {
	slices.SortFunc(list, func(i, j int) int { return checks[i].from - checks[j].from })
	var out strings.Builder
	at := 0
	for _, i := range list {
		c := checks[i]
		fmt.Fprintf(&out, "%s((%s) && mutation(%d))", text[at:c.from], text[c.from:c.to], i+1)
		at = c.to
	}
	out.Write(text[at:])
	return out.String()
}

// compile compiles the tests of a package.
func (b *builder) compile(dir, overlay string) error {
	path := filepath.Join(b.dir, strings.ReplaceAll(dir, "/", "_")+".test")
	cmd := exec.Command("go", "test", "-c", "-vet=off", "-overlay", overlay, "-o", path, "./"+dir)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("compiling the tests of %s: %w\n%s", dir, err, out)
	}
	if _, err := os.Stat(path); err != nil {
		return nil // no tests
	}
	p := &program{dir: dir, path: path}
	out, err := p.command("-test.list", "^(Test|Example|Fuzz)").Output()
	if err != nil {
		return fmt.Errorf("listing the tests of %s: %w", dir, err)
	}
	for _, name := range strings.Fields(string(out)) {
		p.tests = append(p.tests, &test{program: p, name: name})
	}
	b.programs = append(b.programs, p)
	return nil
}
