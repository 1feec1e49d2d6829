package main

import (
	"bytes"
	"fmt"
	"html"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weightmap/weightmap/examples/digits"
	"github.com/weightmap/weightmap/format/convert"
	"github.com/weightmap/weightmap/format/live"
	"github.com/weightmap/weightmap/internal/expect"
)

// TestPage drives the page in a browser: it draws with mouse, keyboard and touch, sends a picture,
// and reloads a good file and a bad one, in light and dark mode. The console must have no message
// except the refusal.
func TestPage(t *testing.T) {
	for name, options := range map[string][]string{"light": nil, "dark": {"--blink-settings=preferredColorScheme=0"}, "narrow": {"--window-size=500,1100"}} {
		t.Run(name, func(t *testing.T) {
			says := browse(t, options...)
			refused, ok := strings.CutPrefix(says["bad"], "2 mag: ")
			if !ok || refused == "" || strings.Contains(refused, "/") {
				t.Errorf("a bad file: %q", says["bad"])
			}
			delete(says, "bad")
			want := map[string]string{
				"waiting": "the finger", "done": "yes", "width": "true",
				"model": "digits.model wia 75.4 kB none: used where they are mapped",
				"mouse": "7 7", "keyboard": "1 1", "picture": "7 7", "touch": "3 3", "cleared": "?", "is-bad": "true",
				"good": "2 mag: Loaded.", "again": "3 mag: Loaded.",
			}
			expect.Equal(t, want, says)
		})
	}
}

// browse loads the page with testdata/drive.js in a browser, and returns the results that the
// script left in the document.
func browse(t *testing.T, options ...string) map[string]string {
	t.Helper()
	browser, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("no chromium: the Debian package has one")
	}
	path := filepath.Join(t.TempDir(), "digits.model")
	replace(t, path, trained(t))
	s, _ := running(t, path, defaults, live.Options{})
	web := httptest.NewServer(driven(t, s, path))
	defer web.Close()
	args := append([]string{"--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
		"--disable-component-update", "--disable-sync", "--hide-scrollbars", "--enable-logging=stderr", "--user-data-dir=" + t.TempDir(),
		"--window-size=760,690", "--dump-dom"}, options...)
	cmd := exec.Command(browser, append(args, web.URL+"/")...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v: %s", err, &errs)
	}
	for line := range strings.Lines(errs.String()) {
		if strings.Contains(line, "CONSOLE") && !strings.Contains(line, "status of 422") {
			t.Error("on the console: ", line)
		}
	}
	tag := regexp.MustCompile(`<html[^>]*>`).FindString(out.String())
	says := map[string]string{}
	for _, m := range regexp.MustCompile(`data-([a-z-]+)="([^"]*)"`).FindAllStringSubmatch(tag, -1) {
		says[m[1]] = html.UnescapeString(m[2])
	}
	return says
}

// driven serves the page with a script that operates it. An image of the page is delayed until the
// script is done, so that the browser waits.
func driven(t *testing.T, s *server, path string) http.Handler {
	t.Helper()
	good, bad := filepath.Join(t.TempDir(), "good.mag"), filepath.Join(t.TempDir(), "bad.wia")
	if _, err := convert.File(t.Context(), path, good, &convert.Options{Lossy: true}); err != nil {
		t.Fatal(err)
	}
	expect.OK(t, os.WriteFile(bad, digits.Trained()[:1000], 0o666))
	markup, err := page.ReadFile("page.html")
	expect.OK(t, err)
	done := make(chan struct{})
	end := sync.OnceFunc(func() { close(done) })
	mux := http.NewServeMux()
	mux.Handle("/", s.routes())
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		more := `<script src="drive.js" defer></script></head>`
		fmt.Fprint(w, strings.Replace(strings.Replace(string(markup), "</head>", more, 1), "</body>", `<img src="held.png" alt="" hidden></body>`, 1))
	})
	mux.HandleFunc("GET /drive.js", func(w http.ResponseWriter, r *http.Request) { http.ServeFile(w, r, "testdata/drive.js") })
	mux.HandleFunc("POST /swap", func(w http.ResponseWriter, r *http.Request) {
		if r.URL.RawQuery == "bad" {
			replace(t, path, bad)
		} else {
			replace(t, path, good)
		}
	})
	mux.HandleFunc("POST /done", func(http.ResponseWriter, *http.Request) { end() })
	mux.HandleFunc("GET /held.png", func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-done:
		case <-r.Context().Done():
		case <-time.After(time.Minute): // against hanging
		}
		w.WriteHeader(http.StatusNoContent)
	})
	return guarded(mux)
}
