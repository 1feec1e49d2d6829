// Arrows prints which packages of the module import which, and which files of a package use which:
// from those that nothing else uses down to those that use nothing. It fails if files use each
// other in a circle. In the module's root directory:
//
//	go run ./internal/arrows [DIR]
//
// DIR is the package whose files it prints, ./format if there is none. Its test demands that in
// package format arrows run down only.
package main

import (
	"fmt"
	"io"
	"log"
	"os"
)

func main() {
	log.SetFlags(0)
	dir := "./format"
	if len(os.Args) > 1 {
		dir = os.Args[1]
	}
	imports, err := packages()
	if err != nil {
		log.Fatal(err)
	}
	draw(os.Stdout, "packages", imports)
	files, err := load(dir)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println()
	draw(os.Stdout, "files of "+dir, arrowsOf(files))
}

// draw prints packages or files from the top down.
func draw(w io.Writer, what string, uses map[string][]string) {
	levels, circle := order(uses)
	if circle != nil {
		log.Fatalf("these %s use each other in a circle: %v", what, circle)
	}
	arrows := 0
	for _, list := range uses {
		arrows += len(list)
	}
	fmt.Fprintf(w, "%d %s, %d arrows, all down\n", len(uses), what, arrows)
	for i := len(levels) - 1; i >= 0; i-- {
		for _, name := range levels[i] {
			fmt.Fprintf(w, "%2d  %-20s %v\n", i, name, uses[name])
		}
	}
}
