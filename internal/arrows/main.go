// Arrows prints which files of a package use which: the files, from those that nothing else uses down to those that use
// nothing, with the files that each uses. It fails if files use each other in a circle. In the module's root directory:
//
//	go run ./internal/arrows [DIR]
//
// DIR is ./format if there is none. Its test demands that in package format arrows run down only.
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
	files, err := load(dir)
	if err != nil {
		log.Fatal(err)
	}
	uses := arrowsOf(files)
	levels, circle := order(uses)
	if circle != nil {
		log.Fatalf("these files use each other in a circle: %v", circle)
	}
	print(os.Stdout, uses, levels)
}

// print prints the files from the top down.
func print(w io.Writer, uses map[string][]string, levels [][]string) {
	arrows := 0
	for _, list := range uses {
		arrows += len(list)
	}
	fmt.Fprintf(w, "%d files, %d arrows, all down\n", len(uses), arrows)
	for i := len(levels) - 1; i >= 0; i-- {
		for _, file := range levels[i] {
			fmt.Fprintf(w, "%2d  %-18s %v\n", i, file, uses[file])
		}
	}
}
