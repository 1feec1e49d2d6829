// Command judge opens the committed corpora of safetensors, GGUF, NumPy and ONNX files with other
// readers. It prints a table of the files that each reader wrongly accepts, misreads or wrongly
// refuses, and on which it crashes, hangs or takes too much memory. In the module's root directory:
//
//	go run ./internal/peers/judge [-v] [-node DIR]
//
// It uses each reader as documented, to open a file and read every tensor. A reader runs in its own
// process, which is restarted after a crash. A file, of 4 kB at most, may take 10 seconds and 8 GiB of
// address space.
//
// A verdict counts only if the format's specification decides it. File choices.txt lists the cases
// that this library decides, with reasons: any answer is right there, but a crash is not. Models of
// several files are opened only with readers that support them.
//
// Not judged: onnxruntime, which runs graphs, while those in the corpus have no inputs;
// go-huggingface, which reads no tensors up to v0.3.1.
package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"log"
	"os"
	"time"

	"github.com/weightmap/weightmap/format"
	_ "github.com/weightmap/weightmap/format/all"
	"github.com/weightmap/weightmap/internal/peers/peer"
)

// addresses limits the address space of a reader in kB, so that an excessive allocation fails on every
// machine.
var addresses = "8388608"

func main() {
	log.SetFlags(0)
	verbose := flag.Bool("v", false, "list every case that a reader gets wrong")
	node := flag.String("node", "", "`directory` in whose node_modules npm has installed @huggingface/gguf and npyjs")
	self := flag.Bool("self", false, "be the reader of this library, for the judge")
	flag.Parse()
	if *self {
		if err := peer.Serve("this tree", readOurs); err != nil {
			log.Fatal(err)
		}
		return
	}
	dir, err := os.MkdirTemp("", "weightmap-judge-")
	if err != nil {
		log.Fatal(err)
	}
	clean, err := judge(dir, *node, *verbose)
	os.RemoveAll(dir)
	if err != nil {
		log.Fatal(err)
	}
	if !clean {
		log.Fatal("this library does not read its own corpora as they say")
	}
}

// judge prints the table, and reports whether this library makes no mistake.
func judge(dir, node string, verbose bool) (clean bool, err error) {
	all, err := readCorpora(".")
	if err != nil {
		return false, fmt.Errorf("%w (run this in the top folder of weightmap)", err)
	}
	clean = true
	var table, details []string
	for _, r := range readers(dir, node) {
		for _, f := range r.formats {
			t, err := r.try(all[f], 10*time.Second)
			if err != nil {
				fmt.Fprintf(os.Stderr, "%s is left out: %v\n\tto get it: %s\n", r.name, err, r.get)
				break
			}
			table = append(table, t.row(r.name, f))
			for _, d := range t.details {
				details = append(details, fmt.Sprintf("%s: %s: %s", r.name, f, d))
			}
			clean = clean && (r.name != ours || len(t.details) == 0)
		}
	}
	fmt.Println(header())
	for _, row := range table {
		fmt.Println(row)
	}
	if verbose {
		fmt.Println()
		for _, d := range details {
			fmt.Println(d)
		}
	}
	return clean, nil
}

// readOurs opens, verifies and reads a file with this library.
func readOurs(path string) (all []peer.Tensor, err error) {
	m, err := format.Open(path, nil)
	if err != nil {
		return nil, err
	}
	defer m.Close()
	if _, err := m.Verify(context.Background()); err != nil {
		return nil, err
	}
	for name, v := range m.Tensors() {
		b, err := v.Bytes()
		if err != nil {
			return nil, err
		}
		all = append(all, peer.Tensor{Name: name, Data: bytes.Clone(b)})
	}
	return all, nil
}
