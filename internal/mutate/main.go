// Mutate disables each check of the parsers in turn and runs the tests that trip it. In the
// module's root directory:
//
//	go run ./internal/mutate [package...]
//
// A check is an operand of a condition (split at ||) whose branch makes, records or returns an
// error, or declines a number that is out of range. Mutate rewrites the packages once, in a
// temporary directory, so that an environment variable can disable a check by number. It compiles
// each package's tests once, and runs them one by one to learn which tests trip which checks. A
// check that no test trips survives. For each other check, only the tests that trip it run again
// without it: it is caught if one of them fails, crashes or exceeds its time.
//
// File survivors.txt lists the checks that no test can or need catch, with reasons. The exit status
// is 1 if others survive, or fewer than 95 % are caught.
package main

import (
	_ "embed"
	"flag"
	"io"
	"log"
	"os"
	"slices"
)

// target is a package with checks, and more packages whose tests exercise it.
type target struct {
	dir   string
	tests []string
}

// targets are the packages that read untrusted input.
var targets = []target{
	{dir: "mag"}, {dir: "mobi"}, {dir: "tsr"}, {dir: "mle"}, {dir: "wia"},
	{dir: "format/safetensors"}, {dir: "format/gguf"}, {dir: "format/npy"}, {dir: "format/onnx"},
	{dir: "format/torch"}, {dir: "format/remote"}, {dir: "format/signing"},
	{"internal/wire", []string{"mag", "tsr"}},
	{"internal/messages", []string{"wia", "format/onnx"}},
	{"internal/onnxgraph", []string{"wia", "format/onnx"}},
	{"internal/shards", []string{"format/safetensors", "format/torch"}},
	{"internal/zip", []string{"format/npy", "format/torch"}},
	{"internal/jsonmeta", []string{"format/safetensors", "mle", "wia"}},
	{"internal/external", []string{"wia", "format/onnx"}},
	{"internal/source", []string{"format", "mag"}},
	{"internal/pass", []string{"format", "tensor"}},
	{"internal/checksum", []string{"format", "mag", "mle"}},
	{"format", []string{
		"format/formattest", "format/all", "format/remote", "format/gguf", "internal/trusted", "mag", "wia",
	}},
}

func main() {
	log.SetFlags(0)
	flag.Parse()
	chosen := targets
	if flag.NArg() > 0 {
		chosen = slices.DeleteFunc(slices.Clone(targets), func(t target) bool { return !slices.Contains(flag.Args(), t.dir) })
	}
	if len(chosen) < flag.NArg() {
		log.Fatal("mutate: only packages that read what strangers made have checks to remove: see targets in main.go")
	}
	ok, err := run(os.Stdout, targets, chosen, knownSurvivors)
	if err != nil {
		log.Fatal(err)
	}
	if !ok {
		os.Exit(1)
	}
}

//go:embed survivors.txt
var knownSurvivors string

// run mutates the chosen packages and prints a report. It reports whether enough checks were
// caught.
func run(out io.Writer, all, chosen []target, text string) (ok bool, err error) {
	excused, err := parseKnown(text)
	if err != nil {
		return false, err
	}
	checks, err := findAll(all, chosen)
	if err != nil {
		return false, err
	}
	dir, err := os.MkdirTemp("", "mutate")
	if err != nil {
		return false, err
	}
	defer os.RemoveAll(dir)
	tests, err := build(dir, chosen, checks)
	if err != nil {
		return false, err
	}
	for _, t := range tests {
		if err := t.trace(checks); err != nil {
			return false, err
		}
	}
	for _, c := range checks {
		c.verdict = c.try()
	}
	return report(out, chosen, checks, excused), nil
}
