// Command decoding compares decoding of every type of GGUF blocks with a plain C program, and prints a
// table in Markdown:
//
//	go run -C internal/peers/golang ./decoding [TYPE...]
//
// It compiles the C program with $CC or cc at -O3 -march=native. Figures are medians of the ratios of
// paired rounds on one processor; use taskset to run both programs on the same one.
package main

import (
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"slices"

	"github.com/weightmap/weightmap/internal/bench"
	"github.com/weightmap/weightmap/internal/floor"
	"github.com/weightmap/weightmap/tensor"
)

// elems is the number of elements decoded at a time.
const elems = 1 << 20

func main() {
	log.SetFlags(0)
	flag.Parse()
	dir, err := os.MkdirTemp("", "weightmap-decoding-")
	if err != nil {
		log.Fatal(err)
	}
	err = table(os.Stdout, dir, flag.Args())
	os.RemoveAll(dir)
	if err != nil {
		log.Fatal(err)
	}
}

// table prints a row for each type, or for the named ones.
func table(w io.Writer, dir string, names []string) error {
	program, err := compile(dir)
	if err != nil {
		fmt.Fprintf(w, "There is no C compiler here, so nothing to compare with: %v\n", err)
		return nil
	}
	fmt.Fprintf(w, "%d elements on one processor:\n\n", elems)
	fmt.Fprintf(w, "| | C, relative to copying the float32 output | weightmap, relative to that | weightmap, relative to C |\n|---|---|---|---|\n")
	for _, t := range bench.BlockTypes {
		if len(names) > 0 && !slices.Contains(names, t.Name) {
			continue
		}
		r, err := compare(program, dir, &t)
		if err != nil {
			return fmt.Errorf("%s: %w", t.Name, err)
		}
		fmt.Fprintf(w, "| %s | %.2f | %.2f | %.2f |\n", t.Name, r[0], r[1], r[2])
	}
	return nil
}

// compare returns the ratios of C to a copy, of this library to a copy, and of this library to C.
func compare(program, dir string, t *bench.Blocks) (ratios [3]float64, err error) {
	blocks := t.Encoded(elems / int(t.Elems))
	v, err := t.View(blocks)
	if err != nil {
		return ratios, err
	}
	out, from := make([]float32, elems), make([]float32, elems)
	for i := range from {
		from[i] = 1 // otherwise the slice maps to the zero page
	}
	c, err := start(program, dir, t.Name, blocks)
	if err != nil {
		return ratios, err
	}
	ours := floor.Timed(func() error { _, err := tensor.Decode(out, v); return err })
	copying := floor.Timed(func() error { copy(out, from); return nil })
	for i, pair := range [][2]floor.Round{{c.round, copying}, {ours, copying}, {ours, c.round}} {
		r, err := floor.Compare(pair[0], pair[1])
		if err != nil {
			return ratios, err
		}
		ratios[i] = r.Ratio
	}
	_, err = c.finish()
	return ratios, err
}
