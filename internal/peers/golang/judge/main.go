// Command judge opens the committed corpora of safetensors, GGUF, NumPy and ONNX files with other
// readers. It prints a table of the files that each reader wrongly accepts, misreads or wrongly
// refuses, and on which it crashes, hangs or takes too much memory, and then the cases. In the
// module's root directory:
//
//	go run -C internal/peers/golang ./judge [-node DIR]
//
// It uses each reader as documented, to open a file and read every tensor. Each file, of 4 kB at
// most, is read by a process, which may take 10 seconds and 8 GiB of address space.
//
// A verdict counts only if the format's specification decides it. File choices.txt lists the cases
// that this library decides, with reasons: any answer is right there, but a crash is not. Models of
// several files are opened only with readers that support them.
//
// Not judged: onnxruntime, which runs graphs, while those in the corpus have no inputs;
// go-huggingface, which reads no tensors up to v0.3.1.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"os"
	"strings"
	"time"
)

func main() {
	log.SetFlags(0)
	node := flag.String("node", "", "absolute `directory` in whose node_modules npm has installed @huggingface/gguf and npyjs")
	name := flag.String("reader", "", "read the file in the argument with this `library`, for the judge")
	flag.Parse()
	for _, r := range linked {
		if r.name == *name {
			if err := json.NewEncoder(os.Stdout).Encode(r.answer(flag.Arg(0))); err != nil {
				log.Fatal(err)
			}
			return
		}
	}
	clean, err := judge(*node)
	if err != nil {
		log.Fatal(err)
	}
	if !clean {
		log.Fatal("this library does not read its own corpora as they say")
	}
}

// judge prints the table, and reports whether this library makes no mistake.
func judge(node string) (clean bool, err error) {
	all, err := readCorpora()
	if err != nil {
		return false, err
	}
	clean = true
	var details []string
	fmt.Println(header())
	for _, r := range append(linked, installed(node)...) {
		if r.missing != "" {
			fmt.Fprintf(os.Stderr, "%s is left out: %s\n", r.name, r.missing)
			continue
		}
		for _, f := range r.formats {
			t := r.try(all[f], 10*time.Second)
			fmt.Println(t.row(r.name, f))
			for _, d := range t.details {
				details = append(details, fmt.Sprintf("%s: %s: %s", r.name, f, d))
			}
			clean = clean && (r.name != ours || len(t.details) == 0)
		}
	}
	fmt.Println("\n" + strings.Join(details, "\n"))
	return clean, nil
}
