package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestAddresses: what reads a file reads one behind HTTP.
func TestAddresses(t *testing.T) {
	path := model(t, "mag", "m.mag")
	content, err := os.ReadFile(path)
	must(t, err)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/"+filepath.Base(path) {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("ETag", `"1"`)
		http.ServeContent(w, r, "", time.Time{}, strings.NewReader(string(content)))
	}))
	defer s.Close()
	address := s.URL + "/" + filepath.Base(path)
	copied := filepath.Join(t.TempDir(), "copy"+filepath.Ext(path))
	for _, tt := range []struct {
		name   string
		args   []string
		status int
		says   string
	}{
		{"inspect", []string{"inspect", address}, 0, address},
		{"verify", []string{"verify", address}, 0, address + ": ok"},
		{"convert", []string{"convert", address, copied}, 0, ""},
		{"diff", []string{"diff", address, path}, 0, ""},
		{"missing", []string{"inspect", s.URL + "/none?sig=s3cr3t"}, 1, "404 Not Found"},
		{"bench", []string{"bench", address}, 2, "bench takes a file, not an address"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			out, errs := tool(t, tt.status, tt.args...)
			if !strings.Contains(out+errs, tt.says) || strings.Contains(errs, "s3cr3t") {
				t.Errorf("%s%s", out, errs)
			}
		})
	}
}
