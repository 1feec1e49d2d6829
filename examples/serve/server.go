package main

import (
	"context"
	"embed"
	"encoding/json"
	"errors"
	"log"
	"net/http"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/weightmap/weightmap/format/live"
	"github.com/weightmap/weightmap/tensor"
)

// server answers requests.
type server struct {
	h        *live.Handle
	limits   *limits
	turns    chan struct{} // of predictions
	draining atomic.Bool
	metrics  *metrics
}

func newServer(h *live.Handle, l *limits) *server {
	s := &server{h: h, limits: l, turns: make(chan struct{}, l.predictions)}
	s.metrics = newMetrics(h, func() int { return len(s.turns) })
	return s
}

// http returns a server with the limits.
func (s *server) http(logs *log.Logger) *http.Server {
	return &http.Server{
		Handler: s.routes(), ErrorLog: logs, MaxHeaderBytes: 16 << 10,
		ReadHeaderTimeout: s.limits.header, ReadTimeout: s.limits.read, WriteTimeout: s.limits.write, IdleTimeout: s.limits.idle,
	}
}

//go:embed page.html page.css page.js
var page embed.FS

func (s *server) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) { http.ServeFileFS(w, r, page, "page.html") })
	mux.Handle("GET /page.css", http.FileServerFS(page))
	mux.Handle("GET /page.js", http.FileServerFS(page))
	mux.HandleFunc("POST /predict", s.asked(s.predict))
	mux.HandleFunc("POST /reload", s.asked(s.reload))
	mux.HandleFunc("GET /model", s.asked(s.model))
	mux.HandleFunc("GET /healthz", s.asked(s.health))
	mux.Handle("GET /metrics", s.metrics.handler())
	return guarded(mux)
}

// guarded sets a policy that forbids pages to load anything from elsewhere, and refuses requests
// from other sites' pages.
func guarded(next http.Handler) http.Handler {
	const policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; " +
		"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Security-Policy", policy)
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Referrer-Policy", "no-referrer")
		w.Header().Set("Cache-Control", "no-cache")
		switch from := r.Header.Get("Sec-Fetch-Site"); {
		case r.Method == http.MethodGet, from == "", from == "same-origin", from == "none":
			next.ServeHTTP(w, r)
		default:
			http.Error(w, "from another site", http.StatusForbidden)
		}
	})
}

// asked returns a handler that responds with JSON, or with the status of an error and
// {"error":"..."}.
func (s *server) asked(f func(w http.ResponseWriter, r *http.Request) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		status := http.StatusOK
		out, err := f(w, r)
		if err != nil {
			status = statusOf(err)
			out = map[string]string{"error": reason(err)}
		}
		if status == http.StatusServiceUnavailable {
			w.Header().Set("Retry-After", "1")
		}
		s.metrics.count(r.URL.Path, status)
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Cache-Control", "no-store")
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(out) // ignore clients that disconnected
	}
}

// statusOf returns the status of an error.
func statusOf(err error) int {
	var p *problem
	if errors.As(err, &p) {
		return p.status
	}
	return http.StatusInternalServerError
}

// predict handles POST /predict. It reads the body before it waits for its turn, so slow clients do
// not block others, and decodes it afterwards, to limit memory.
func (s *server) predict(w http.ResponseWriter, r *http.Request) (any, error) {
	d, err := s.receive(w, r)
	if err != nil {
		return nil, err
	}
	if err := s.turn(r.Context()); err != nil {
		return nil, err
	}
	defer func() { <-s.turns }()
	m, err := s.image(d)
	if err != nil {
		return nil, err
	}
	start := time.Now()
	a, err := predict(s.h, &m)
	s.metrics.predicted(time.Since(start))
	return a, err
}

// turn waits until another prediction may run.
func (s *server) turn(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, s.limits.wait)
	defer cancel()
	select {
	case s.turns <- struct{}{}:
		return nil
	case <-ctx.Done():
		return problemf(http.StatusServiceUnavailable, "too many requests at a time")
	}
}

// reload handles POST /reload. If the file is invalid, the status is 422.
func (s *server) reload(_ http.ResponseWriter, r *http.Request) (any, error) {
	if _, err := s.h.Reload(r.Context()); err != nil {
		return nil, &problem{http.StatusUnprocessableEntity, err}
	}
	return s.model(nil, r)
}

// loaded is the response to GET /model.
type loaded struct {
	Name       string    `json:"name"`
	Format     string    `json:"format"`
	Size       int64     `json:"size"`
	Generation uint64    `json:"generation"`
	Since      time.Time `json:"since"`
	Mapped     int64     `json:"mapped"`
	// Decoded is the number of bytes of weights that were decoded. All others are used where they
	// are mapped.
	Decoded int64    `json:"decoded"`
	Notes   []string `json:"notes"`
	Stale   string   `json:"stale,omitempty"` // why the file at the path is not served
}

func (s *server) model(http.ResponseWriter, *http.Request) (any, error) {
	l, err := s.h.Acquire()
	if err != nil {
		return nil, &problem{http.StatusServiceUnavailable, err}
	}
	defer l.Release()
	stats := s.h.Stats()
	m := loaded{
		Name: filepath.Base(stats.Path), Format: l.Model().Format(), Size: stats.FileSize, Generation: l.Generation(), Since: stats.Since,
		Mapped: stats.Mapped, Decoded: l.Value().(*network).copied, Notes: append([]string{}, l.Model().Notes()...),
	}
	if stats.Stale {
		m.Stale = stale(&stats)
	}
	return m, nil
}

// stale explains briefly why the file at the path is not served.
func stale(s *live.Stats) string {
	switch {
	case s.Missing:
		return "the file is not there"
	case s.LastError != nil && s.LastErrorTime.After(s.Since):
		return "the new file was refused: " + reason(s.LastError)
	}
	return "a new file is waited for to be whole"
}

// reason returns an error without the path, which clients should not see.
func reason(err error) string {
	var e *tensor.Error
	if errors.As(err, &e) {
		short := *e
		short.Path = ""
		return short.Error()
	}
	return strings.TrimSpace(err.Error())
}

// health handles GET /healthz: 200 while predictions can be trusted and new clients are accepted.
func (s *server) health(http.ResponseWriter, *http.Request) (any, error) {
	stats := s.h.Stats()
	switch {
	case s.draining.Load() || stats.Generation == 0:
		return nil, problemf(http.StatusServiceUnavailable, "ending")
	case stats.Overwritten:
		return nil, problemf(http.StatusServiceUnavailable, "the model was overwritten in place, and what is there now is refused")
	}
	return map[string]any{"status": "ok", "generation": stats.Generation}, nil
}
