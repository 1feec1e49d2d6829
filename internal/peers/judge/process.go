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

// fate is what became of a process that was given a file.
type fate int

const (
	answered fate = iota
	crashed       // it ended
	hung          // it took too long, and was ended
	swelled       // it took too much memory, and was ended
)

// process is a reader at work.
type process struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	lines  chan []byte // of its output; closed at its end
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

// ask has the reader open a file. After any other fate than answered the process has ended.
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

// peak returns the most memory that the process has had resident, 0 where the system does not tell.
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

// stop ends the process.
func (p *process) stop() {
	p.cmd.Process.Kill()
	p.end()
}

// end waits for the process and returns the line that says why it ended.
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
