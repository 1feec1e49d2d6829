// Api compares the exported API of the public packages with the files in this directory, one per
// package, and fails if they differ. In the module's root directory:
//
//	go run ./internal/api [-update]
//
// Removing or changing an export of a stable package breaks programs that use it. The flag -update
// rewrites the files, so that the difference is part of the commit and visible in review.
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

const (
	module = "github.com/weightmap/weightmap"
	dir    = "internal/api"
)

// unstable lists the public packages whose API may change between minor releases.
var unstable = []string{"format/driver", "format/formattest", "format/mobile"}

func main() {
	update := flag.Bool("update", false, "write the API files anew")
	flag.Parse()
	ok, err := run(os.Stdout, *update)
	if err != nil {
		fmt.Fprintln(os.Stderr, "api:", err)
		os.Exit(2)
	}
	if !ok {
		os.Exit(1)
	}
}

// run compares or updates the files, and reports whether they matched.
func run(w io.Writer, update bool) (bool, error) {
	recorded, err := read(dir)
	if err != nil {
		return false, err
	}
	packages, _, err := load()
	if err != nil {
		return false, err
	}
	exported := make(map[string][]string)
	for name, p := range packages {
		if lines := describe(p); len(lines) > 0 {
			exported[name] = lines
		}
	}
	if update {
		return true, write(dir, recorded, exported)
	}
	return compare(w, recorded, exported), nil
}

// compare prints the differences by package, and reports whether there are none.
func compare(w io.Writer, recorded, exported map[string][]string) bool {
	names := maps.Clone(recorded)
	maps.Copy(names, exported)
	same := true
	for _, name := range slices.Sorted(maps.Keys(names)) {
		removed, added := without(recorded[name], exported[name]), without(exported[name], recorded[name])
		switch {
		case len(removed)+len(added) == 0:
			continue
		case len(removed) == 0:
			fmt.Fprintf(w, "%s: new, run with -update\n", name)
		case slices.Contains(unstable, name):
			fmt.Fprintf(w, "%s: changed; the package may change: run with -update\n", name)
		default:
			fmt.Fprintf(w, "%s: incompatible: the package is stable\n", name)
		}
		same = false
		for _, l := range removed {
			fmt.Fprintf(w, "\t- %s\n", l)
		}
		for _, l := range added {
			fmt.Fprintf(w, "\t+ %s\n", l)
		}
	}
	return same
}

// without returns the lines of a that are not in b.
func without(a, b []string) []string {
	return slices.DeleteFunc(slices.Clone(a), func(l string) bool {
		_, found := slices.BinarySearch(b, l)
		return found
	})
}

// read returns the lines of the files, by package.
func read(dir string) (map[string][]string, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.txt"))
	if err != nil {
		return nil, err
	}
	recorded := make(map[string][]string)
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			return nil, err
		}
		name := strings.ReplaceAll(strings.TrimSuffix(filepath.Base(f), ".txt"), "_", "/")
		recorded[name] = strings.Split(string(bytes.TrimSpace(b)), "\n")
	}
	return recorded, nil
}

// write writes the exports to the files, and removes the files of packages that no longer exist.
func write(dir string, recorded, exported map[string][]string) error {
	for name := range recorded {
		if err := os.Remove(file(dir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	for name, lines := range exported {
		if err := os.WriteFile(file(dir, name), []byte(strings.Join(lines, "\n")+"\n"), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// file returns the path of a package's file.
func file(dir, name string) string {
	return filepath.Join(dir, strings.ReplaceAll(name, "/", "_")+".txt")
}
