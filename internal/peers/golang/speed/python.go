package main

import (
	"bufio"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"os/exec"
	"sync"
	"time"

	"github.com/weightmap/weightmap/internal/floor"
)

//go:embed safetensors.py
var script string

// python is a process that opens files with safetensors and measures the time.
type python struct {
	in  io.Writer
	out *bufio.Reader
}

// startPython returns nil if no Python has safetensors. WEIGHTMAP_PYTHON selects a Python.
var startPython = sync.OnceValue(func() *python {
	for _, name := range []string{"python3", os.Getenv("WEIGHTMAP_PYTHON")} {
		if exec.Command(name, "-c", "import safetensors").Run() != nil {
			continue
		}
		c := exec.Command(name, "-c", script)
		in, err := c.StdinPipe()
		out, err2 := c.StdoutPipe()
		if errors.Join(err, err2, c.Start()) == nil {
			return &python{in, bufio.NewReader(out)}
		}
	}
	log.Print("no Python has safetensors: it is left out")
	return nil
})

// request makes the process open the file n times.
func (p *python) request(path string, n int) (tensors []entry, took time.Duration, err error) {
	if _, err := fmt.Fprintf(p.in, "%d %s\n", n, path); err != nil {
		return nil, 0, err
	}
	line, err := p.out.ReadBytes('\n')
	if err != nil {
		return nil, 0, err
	}
	var answer struct {
		Error   string
		Took    time.Duration
		Tensors []entry
	}
	err = json.Unmarshal(line, &answer)
	if answer.Error != "" {
		err = errors.New(answer.Error)
	}
	return answer.Tensors, answer.Took, err
}

func (p *python) open(path string) (opened, error) {
	all, _, err := p.request(path, 1)
	return listed(all), err
}

func (p *python) round(path string) floor.Round {
	return func(n int) (time.Duration, error) {
		_, took, err := p.request(path, n)
		return took, err
	}
}
