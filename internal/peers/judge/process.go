package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/weightmap/weightmap/internal/peers/peer"
)

// fate is the outcome of giving a file to a process.
type fate int

const (
	answered fate = iota
	crashed       // the process exited
	hung          // exceeded the time and was killed
	swelled       // exceeded the memory and was killed
)

// process is a running reader.
type process struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	lines  chan []byte // lines of output; closed at the end
	errors bytes.Buffer
	limits bounds
}

// start starts a reader and returns its version.
func start(argv []string, dir string, limits bounds) (*process, string, error) {
	if limits.addresses > 0 {
		script := fmt.Sprintf(`ulimit -v %d 2>/dev/null; exec "$0" "$@"`, limits.addresses>>10)
		argv = append([]string{"sh", "-c", script}, argv...)
	}
	p := &process{cmd: exec.Command(argv[0], argv[1:]...), lines: make(chan []byte), limits: limits}
	p.cmd.Dir, p.cmd.Stderr = dir, &p.errors
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, "", err
	}
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return nil, "", err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, "", err
	}
	go func() {
		defer close(p.lines)
		s := bufio.NewScanner(out)
		s.Buffer(nil, 64<<20)
		for s.Scan() {
			p.lines <- bytes.Clone(s.Bytes())
		}
	}()
	a, f, detail := p.wait()
	if f != answered {
		return nil, "", errors.New(detail)
	}
	return p, a.Version, nil
}

// ask makes the reader open the file. Unless the fate is answered, the process has ended.
func (p *process) ask(path string) (peer.Answer, fate, string) {
	if _, err := fmt.Fprintln(p.in, path); err != nil {
		return peer.Answer{}, crashed, p.end()
	}
	return p.wait()
}

func (p *process) wait() (a peer.Answer, f fate, detail string) {
	late := time.After(p.limits.time)
	look := time.NewTicker(10 * time.Millisecond)
	defer look.Stop()
	for {
		select {
		case line, ok := <-p.lines:
			switch {
			case !ok:
				if detail = p.end(); strings.Contains(detail, "out of memory") {
					return a, swelled, detail
				}
				return a, crashed, detail
			case p.peak() > p.limits.memory:
				p.stop()
				return a, swelled, fmt.Sprintf("more than %d MiB", p.limits.memory>>20)
			}
			if err := json.Unmarshal(line, &a); err != nil {
				p.stop()
				return a, crashed, err.Error()
			}
			return a, answered, a.Error
		case <-look.C:
			if p.peak() > p.limits.memory {
				p.stop()
				return a, swelled, fmt.Sprintf("more than %d MiB", p.limits.memory>>20)
			}
		case <-late:
			p.stop()
			return a, hung, "no answer in " + p.limits.time.String()
		}
	}
}

// peak returns the peak resident memory of the process, or 0 if the system does not tell.
func (p *process) peak() int64 {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(b), "VmHWM:")
	number, _, _ := strings.Cut(strings.TrimSpace(rest), " ")
	n, _ := strconv.ParseInt(number, 10, 64)
	return n << 10
}

// stop kills the process.
func (p *process) stop() {
	p.cmd.Process.Kill()
	p.end()
}

// end waits for the process and returns the line of its output that gives the reason.
func (p *process) end() string {
	p.in.Close()
	for range p.lines {
	}
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
