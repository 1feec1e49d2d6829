package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/weightmap/weightmap/examples/digits"
	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/convert"
	"github.com/weightmap/weightmap/format/signing"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/internal/keys"
)

// TestMain runs the program itself in a child process. The tests do not depend on how fast the machine is, so the service
// waits for minutes.
func TestMain(m *testing.M) {
	const patience = 5 * time.Minute
	defaults.wait = patience
	defaults.header = patience
	defaults.read = patience
	defaults.write = patience
	defaults.idle = patience
	defaults.drain = patience
	if os.Getenv("SERVE_AS_CHILD") != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// child starts the program and returns it, its address, and its log.
func child(t *testing.T, args ...string) (*exec.Cmd, string, *bytes.Buffer) {
	t.Helper()
	if runtime.GOOS == "windows" || runtime.GOOS == "js" {
		t.Skip("there is no SIGTERM here")
	}
	exe, err := os.Executable()
	if err != nil {
		t.Skip(err)
	}
	cmd := exec.Command(exe, append([]string{"-addr", "127.0.0.1:0"}, args...)...)
	cmd.Env = append(os.Environ(), "SERVE_AS_CHILD=1")
	var logs bytes.Buffer
	cmd.Stderr = &logs
	out, err := cmd.StdoutPipe()
	expect.OK(t, err)
	expect.OK(t, cmd.Start())
	t.Cleanup(func() { cmd.Process.Kill() }) // nothing happens when it has ended
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err, cmd.Wait(), logs.String())
	}
	url, _, _ := strings.Cut(line, "/ serves ")
	return cmd, url, &logs
}

// TestTermination checks that on SIGTERM requests that have begun are answered, also during a
// reload, that no others are, and that the status is 0.
func TestTermination(t *testing.T) {
	path := trained(t)
	again := trained(t)
	cmd, url, logs := child(t, "-watch", "1ms", path)
	m := digits.Draw(5, 1)
	var terminated atomic.Bool
	var answered atomic.Int64
	var crowd sync.WaitGroup
	for range 8 {
		crowd.Add(1)
		go func() {
			defer crowd.Done()
			client(t, url, &m, &terminated, &answered)
		}()
	}
	for i := 0; answered.Load() < 400; i++ {
		replace(t, path, again)
		if i%2 == 0 {
			if status, text, err := post(url+"/reload", "", ""); status != http.StatusOK || err != nil {
				t.Error(status, text, err)
			}
		}
	}
	began, err := slowly(url, jsonOf(&m)) // a request of which half is sent
	expect.OK(t, err)
	terminated.Store(true)
	expect.OK(t, cmd.Process.Signal(syscall.SIGTERM))
	crowd.Wait()
	if text, err := began(); err != nil || !strings.Contains(text, "200 OK") || !strings.Contains(text, `"digit":5`) {
		t.Errorf("what had begun: %q, %v", text, err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("%v: %s", err, logs)
	}
	if text := logs.String(); strings.Contains(text, "refused") || strings.Contains(text, "panic") || !strings.Contains(text, "ending") {
		t.Error(text)
	}
}

// client sends requests until the service ends. Every response must be correct.
func client(t *testing.T, url string, m *digits.Image, terminated *atomic.Bool, answered *atomic.Int64) {
	for {
		status, text, err := post(url+"/predict", "application/json", jsonOf(m))
		switch {
		case err != nil && terminated.Load():
			return
		case err != nil || status != http.StatusOK || !strings.Contains(text, `"digit":5`):
			t.Errorf("%d, %q, %v", status, text, err)
			return
		}
		answered.Add(1)
	}
}

// slowly sends half of a request, until the service has begun to read its body, and returns a function that sends the rest
// and reads the response.
func slowly(url, body string) (end func() (string, error), err error) {
	c, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	if err != nil {
		return nil, err
	}
	const head = "POST /predict HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nExpect: 100-continue\r\nContent-Length: %d\r\n\r\n"
	const goOn = "HTTP/1.1 100 Continue\r\n\r\n"
	if _, err := fmt.Fprintf(c, head, len(body)); err != nil {
		return nil, err
	}
	answer := make([]byte, len(goOn))
	if _, err := io.ReadFull(c, answer); err != nil || string(answer) != goOn {
		return nil, fmt.Errorf("%q, %w", answer, err)
	}
	half := len(body) / 2
	if _, err := io.WriteString(c, body[:half]); err != nil {
		return nil, err
	}
	return func() (string, error) {
		defer c.Close()
		_, err := io.WriteString(c, body[half:])
		answer, e := io.ReadAll(c)
		return string(answer), errors.Join(err, e)
	}, nil
}

// TestCommandLine checks that each error in the command line, the file or the address is one line,
// with the right status.
func TestCommandLine(t *testing.T) {
	path, dir := trained(t), t.TempDir()
	public, private, err := ed25519.GenerateKey(nil)
	expect.OK(t, err)
	pem, err := keys.EncodePublic(public)
	expect.OK(t, err)
	key, signed := filepath.Join(dir, "key.pem"), filepath.Join(dir, "signed.mle")
	expect.OK(t, os.WriteFile(key, pem, 0o666))
	if _, err := convert.File(t.Context(), path, signed, &convert.Options{Lossy: true, Write: &format.WriteOptions{Signer: private}}); err != nil {
		t.Fatal(err)
	}
	ec, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	expect.OK(t, err)
	bundle, err := signing.Sign(context.Background(), signed, signing.Signer{Key: ec}, nil)
	expect.OK(t, err)
	pem, err = keys.EncodePublic(ec.Public())
	expect.OK(t, err)
	trust := filepath.Join(dir, "trust.pem")
	expect.OK(t, errors.Join(os.WriteFile(trust, pem, 0o666), os.WriteFile(signed+".sig", bundle.Bytes(), 0o666)))
	occupied, err := net.Listen("tcp", "127.0.0.1:0")
	expect.OK(t, err)
	defer occupied.Close()
	for _, c := range []struct {
		name   string
		args   []string
		status int
		says   string
	}{
		{"no model", nil, 2, "one model is needed"},
		{"two models", []string{path, path}, 2, "one model is needed"},
		{"a negative time", []string{"-watch", "-1s", path}, 2, "negative"},
		{"an unknown option", []string{"-tls", path}, 2, "unknown option"},
		{"help", []string{"-help"}, 0, ""},
		{"no file", []string{filepath.Join(dir, "none")}, 1, "no such file"},
		{"no digits", []string{key}, 1, "a key or certificate in PEM form"},
		{"no key", []string{"-trust", path, path}, 1, "PEM"},
		{"unsigned", []string{"-trust", key, path}, 1, "signature"},
		{"no bundle", []string{"-signed", trust, path}, 1, "there is no signature"},
		{"nobody to trust", []string{"-signed", key, signed}, 1, "P-256"},
		{"both", []string{"-signed", trust, "-trust", key, signed}, 2, "exclude each other"},
		{"with a bundle", []string{"-addr", "127.0.0.1:0", "-signed", trust, signed}, 0, "ending"},
		{"taken", []string{"-addr", occupied.Addr().String(), path}, 1, "in use"},
		{"signed", []string{"-addr", "127.0.0.1:0", "-trust", key, "-private", signed}, 0, "ending"},
	} {
		t.Run(c.name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			var out, errs bytes.Buffer
			status := run(ctx, c.args, &printed{&out, cancel}, &errs)
			said, _, _ := strings.Cut(errs.String(), "usage: ")
			lines := strings.Split(strings.TrimSpace(said), "\n")
			if last := lines[len(lines)-1]; status != c.status || !strings.Contains(last, c.says) || len(lines) > 2 {
				t.Errorf("status %d, %q, want %d, %q", status, errs.String(), c.status, c.says)
			}
		})
	}
}

// printed calls f after each write.
type printed struct {
	io.Writer
	f func()
}

func (p *printed) Write(b []byte) (int, error) {
	defer p.f()
	return p.Writer.Write(b)
}
