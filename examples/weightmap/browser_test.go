package main

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/weightmap/weightmap/internal/expect"
)

// tab is a page in a headless browser, driven by the DevTools protocol over pipes.
type tab struct {
	t       *testing.T
	in      *os.File
	out     *bufio.Reader
	calls   int
	session string
}

// browse opens a page and waits for its script. No message may reach the console: a script
// or style that the page's policy does not know, and every request, as it allows none, would
// leave one.
func browse(t *testing.T, page, fragment string, dark bool) *tab {
	t.Helper()
	browser, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("no chromium: the Debian package has one")
	}
	path := filepath.Join(t.TempDir(), "page.html")
	expect.OK(t, os.WriteFile(path, []byte(page), 0o666))
	theirIn, in, err := os.Pipe()
	expect.OK(t, err)
	out, theirOut, err := os.Pipe()
	expect.OK(t, err)
	cmd := exec.Command(browser, "--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update", "--disable-sync",
		"--hide-scrollbars", "--user-data-dir="+t.TempDir(), "--remote-debugging-pipe")
	cmd.ExtraFiles = []*os.File{theirIn, theirOut}
	expect.OK(t, cmd.Start())
	theirIn.Close()
	theirOut.Close()
	b := &tab{t: t, in: in, out: bufio.NewReader(out)}
	t.Cleanup(func() {
		b.session = ""
		b.call("Browser.close", nil)
		cmd.Wait()
		in.Close()
		out.Close()
	})
	target := b.call("Target.createTarget", map[string]any{"url": "about:blank"})["targetId"]
	b.session = b.call("Target.attachToTarget", map[string]any{"targetId": target, "flatten": true})["sessionId"].(string)
	b.call("Log.enable", nil)
	b.call("Runtime.enable", nil)
	b.call("Emulation.setDeviceMetricsOverride", map[string]any{"width": 1300, "height": 1300, "deviceScaleFactor": 1, "mobile": false})
	scheme := "light"
	if dark {
		scheme = "dark"
	}
	b.call("Emulation.setEmulatedMedia", map[string]any{"features": []any{map[string]any{"name": "prefers-color-scheme", "value": scheme}}})
	b.call("Page.navigate", map[string]any{"url": "file://" + path + fragment})
	for b.eval(`document.readyState == "complete" && location.protocol == "file:"`) != true {
	}
	if b.eval(`document.documentElement.dataset.ready`) != "yes" {
		t.Fatal("the script did not end")
	}
	return b
}

// call sends a command and returns its result.
func (b *tab) call(method string, params map[string]any) map[string]any {
	b.t.Helper()
	b.calls++
	message := map[string]any{"id": b.calls, "method": method, "params": params}
	if b.session != "" {
		message["sessionId"] = b.session
	}
	text, err := json.Marshal(message)
	if err == nil {
		_, err = b.in.Write(append(text, 0))
	}
	for err == nil {
		var line []byte
		if line, err = b.out.ReadBytes(0); err != nil {
			break
		}
		var r struct {
			ID     int
			Method string
			Params json.RawMessage
			Result map[string]any
			Error  *struct{ Message string }
		}
		if err = json.Unmarshal(line[:len(line)-1], &r); err != nil {
			break
		}
		switch r.Method {
		case "Log.entryAdded", "Runtime.consoleAPICalled", "Runtime.exceptionThrown":
			b.t.Errorf("on the console: %.2000s", r.Params)
		}
		if r.ID != b.calls {
			continue
		}
		if r.Error != nil {
			b.t.Fatalf("%s: %s", method, r.Error.Message)
		}
		return r.Result
	}
	b.t.Fatalf("%s: %v", method, err)
	return nil
}

// eval returns what an expression is in the page.
func (b *tab) eval(expression string) any {
	b.t.Helper()
	r := b.call("Runtime.evaluate", map[string]any{"expression": expression, "returnByValue": true, "awaitPromise": true})
	if thrown, ok := r["exceptionDetails"]; ok {
		b.t.Fatalf("%s: %v", expression, thrown)
	}
	return r["result"].(map[string]any)["value"]
}

// texts returns the texts of elements.
func (b *tab) texts(selector string) []string {
	b.t.Helper()
	quoted, _ := json.Marshal(selector)
	var all []string
	for _, text := range b.eval("[...document.querySelectorAll(" + string(quoted) + ")].map(e => e.textContent)").([]any) {
		all = append(all, text.(string))
	}
	return all
}
