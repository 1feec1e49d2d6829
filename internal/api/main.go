// Api compares the exported API of the public packages with api.txt, and fails if they differ. In
// the module's root directory:
//
//	go run ./internal/api [-update]
//
// Removing or changing an export of a stable package breaks programs that use it. The flag -update
// rewrites the file, so that the difference is part of the commit and visible in review.
package main

import (
	"flag"
	"fmt"
	"log"
	"maps"
	"os"
	"slices"
	"strings"
)

const (
	module = "github.com/weightmap/weightmap"
	golden = "internal/api/api.txt"
)

// unstable lists the public packages whose API may change between minor releases.
var unstable = []string{"format/driver", "format/formattest", "format/mobile", "format/schema"}

func main() {
	log.SetFlags(0)
	update := flag.Bool("update", false, "write api.txt anew")
	flag.Parse()
	packages, _, err := load()
	if err != nil {
		log.Fatal(err)
	}
	var exported []string
	for _, name := range slices.Sorted(maps.Keys(packages)) {
		for _, line := range describe(packages[name]) {
			exported = append(exported, name+", "+line)
		}
	}
	if *update {
		if err := os.WriteFile(golden, []byte(strings.Join(exported, "\n")+"\n"), 0o644); err != nil {
			log.Fatal(err)
		}
	}
	recorded, err := os.ReadFile(golden)
	if err != nil {
		log.Fatal(err)
	}
	if changes := compare(strings.Split(strings.TrimSpace(string(recorded)), "\n"), exported); len(changes) > 0 {
		fmt.Println(strings.Join(changes, "\n"))
		log.Fatalf("The API is not that of %s: see CONTRIBUTING.md.", golden)
	}
}

// compare returns the removed and added lines.
func compare(recorded, exported []string) (changes []string) {
	for _, l := range recorded {
		if !slices.Contains(exported, l) {
			name, _, _ := strings.Cut(l, ",")
			if slices.Contains(unstable, name) {
				l += " (may change)"
			}
			changes = append(changes, "- "+l)
		}
	}
	for _, l := range exported {
		if !slices.Contains(recorded, l) {
			changes = append(changes, "+ "+l)
		}
	}
	return changes
}
