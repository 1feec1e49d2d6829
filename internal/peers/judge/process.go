package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"time"

	"github.com/weightmap/weightmap/internal/peers/peer"
)

// process is a running reader.
type process struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *json.Decoder
	errors bytes.Buffer
	limit  time.Duration
}

// start starts a reader with a limit of address space and returns its version.
func start(argv []string, dir string, limit time.Duration) (*process, string, error) {
	script := `ulimit -v ` + addresses + ` 2>/dev/null; exec "$0" "$@"`
	p := &process{cmd: exec.Command("sh", append([]string{"-c", script}, argv...)...), limit: limit}
	p.cmd.Dir, p.cmd.Stderr = dir, &p.errors
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, "", err
	}
	p.out = json.NewDecoder(out)
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return nil, "", err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, "", err
	}
	a, f, detail := p.wait()
	if f != "" {
		return nil, "", errors.New(detail)
	}
	return p, a.Version, nil
}

// ask makes the reader open the file. With a fault, the process has ended.
func (p *process) ask(path string) (peer.Answer, fault, string) {
	if _, err := fmt.Fprintln(p.in, path); err != nil {
		return peer.Answer{}, crashes, p.end()
	}
	return p.wait()
}

func (p *process) wait() (a peer.Answer, f fault, detail string) {
	late := time.AfterFunc(p.limit, func() { p.cmd.Process.Kill() })
	err := p.out.Decode(&a)
	if !late.Stop() {
		p.end()
		return a, hangs, "no answer in " + p.limit.String()
	}
	if err == nil {
		return a, "", a.Error
	}
	if detail = p.end(); strings.Contains(detail, "out of memory") {
		return a, swells, detail
	}
	return a, crashes, detail
}

// end ends the process and returns the line of its output that gives the reason.
func (p *process) end() string {
	p.in.Close()
	p.cmd.Process.Kill()
	err := p.cmd.Wait()
	for line := range strings.Lines(p.errors.String()) {
		for _, sign := range []string{"panic: ", "fatal error: ", "runtime: out of memory", "FATAL ERROR: ", "Error"} {
			if strings.Contains(line, sign) {
				return strings.TrimSpace(line)
			}
		}
	}
	if last := strings.TrimSpace(p.errors.String()); last != "" {
		return last[strings.LastIndexByte(last, '\n')+1:]
	}
	return fmt.Sprint("it ended: ", err)
}
