// Command speed measures how long this library and others take to open models, relative to the least
// work that would do, and prints tables in Markdown:
//
//	go run -C internal/peers/golang ./speed [-strict] [-rounds 15]
//
// All libraries open the same tensors, each in a format that it reads; format/gguf writes the GGUF
// files. Figures are medians of the ratios of paired rounds, so they do not depend on the machine's
// speed.
package main

import (
	"flag"
	"fmt"
	"log"
	"os"

	"github.com/weightmap/weightmap/internal/floor"
)

func main() {
	log.SetFlags(0)
	rounds := flag.Int("rounds", floor.Rounds, "pairs of rounds for each figure")
	strict := flag.Bool("strict", false, "exit with status 1 if a verdict is missed")
	flag.Parse()
	dir, err := os.MkdirTemp("", "weightmap-peers-")
	if err != nil {
		log.Fatal(err)
	}
	missed, err := measure(dir, *rounds)
	os.RemoveAll(dir)
	if err != nil {
		log.Fatal(err)
	}
	if missed > 0 && *strict {
		os.Exit(1)
	}
}

// measure prints both tables and returns the number of missed verdicts.
func measure(dir string, rounds int) (missed int, err error) {
	b := &comparison{dir: dir, rounds: rounds}
	if err := b.write(); err != nil {
		return 0, err
	}
	fmt.Printf("Opening and closing, relative to %s, on a small two-core virtual machine:\n\n", gpustack)
	if err := b.table(os.Stdout); err != nil {
		return 0, err
	}
	fmt.Println()
	return b.verdicts(os.Stdout)
}
