package main

import (
	"bytes"
	_ "embed"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// The source is in a directory without Go files, because the go command compiles C files next to Go
// files.
//
//go:embed c/blocks.c
var source []byte

// codebooks is the file of package gguf, relative to this module.
const codebooks = "../../../format/gguf/codebooks.bin"

// compile compiles the C program in dir.
func compile(dir string) (program string, err error) {
	cc := os.Getenv("CC")
	if cc == "" {
		cc = "cc"
	}
	program = filepath.Join(dir, "blocks")
	cmd := exec.Command(cc, "-O3", "-march=native", "-x", "c", "-o", program, "-", "-lm")
	cmd.Stdin = bytes.NewReader(source)
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w\n%s", err, out)
	}
	return program, nil
}

// decoder is a running C program.
type decoder struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out io.Reader
}

// start runs the program for blocks of a type.
func start(program, dir, name string, blocks []byte) (*decoder, error) {
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, blocks, 0o666); err != nil {
		return nil, err
	}
	books, err := filepath.Abs(codebooks)
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(program, name, path, books)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	return &decoder{cmd, in, out}, cmd.Start()
}

// round decodes n times, and returns the time that the program measured.
func (d *decoder) round(n int) (took time.Duration, err error) {
	if _, err := fmt.Fprintln(d.in, n); err != nil {
		return 0, err
	}
	_, err = fmt.Fscanln(d.out, &took)
	return took, err
}

// finish ends the program and returns its values, little-endian float32.
func (d *decoder) finish() ([]byte, error) {
	d.in.Close()
	values, err := io.ReadAll(d.out)
	if err := d.cmd.Wait(); err != nil {
		return nil, err
	}
	return values, err
}
