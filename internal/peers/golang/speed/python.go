package main

import (
	"bufio"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
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
	mu  sync.Mutex
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
		if err = errors.Join(err, err2); err == nil {
			err = c.Start()
		}
		if err != nil {
			continue
		}
		return &python{in: in, out: bufio.NewReader(out)}
	}
	fmt.Fprintln(os.Stderr, "no Python has safetensors: it is left out")
	return nil
})

// request makes the process open the file n times.
func (p *python) request(path string, n int) (names entries, took time.Duration, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
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
		Tensors entries
	}
	if err := json.Unmarshal(line, &answer); err != nil {
		return nil, 0, err
	}
	if answer.Error != "" {
		return nil, 0, errors.New(answer.Error)
	}
	return answer.Tensors, answer.Took, nil
}

func (p *python) open(path string) (opened, error) {
	e, _, err := p.request(path, 1)
	return e, err
}

func (p *python) round(path string) floor.Round {
	return func(n int) (time.Duration, error) {
		_, took, err := p.request(path, n)
		return took, err
	}
}
