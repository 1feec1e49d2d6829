package main

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"
)

// metrics are what the service counts besides what its model counts.
type metrics struct {
	mu       sync.Mutex
	requests map[request]int64
	within   [len(buckets)]int64 // predictions that took as long at most
	all      int64
	took     time.Duration
}

// request is what is counted: paths are those that the service knows.
type request struct {
	path   string
	status int
}

// buckets are times that predictions take at most.
var buckets = [...]time.Duration{
	100 * time.Microsecond, 250 * time.Microsecond, 500 * time.Microsecond, time.Millisecond, 2500 * time.Microsecond,
	5 * time.Millisecond, 10 * time.Millisecond, 25 * time.Millisecond, 100 * time.Millisecond, time.Second,
}

func (m *metrics) count(path string, status int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.requests == nil {
		m.requests = map[request]int64{}
	}
	m.requests[request{path, status}]++
}

func (m *metrics) predicted(took time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.all++
	m.took += took
	for i, most := range buckets {
		if took <= most {
			m.within[i]++
		}
	}
}

// write adds the metrics to b, in Prometheus' text form.
func (m *metrics) write(b *bytes.Buffer) {
	m.mu.Lock()
	defer m.mu.Unlock()
	b.WriteString("# HELP serve_requests_total Requests that were answered.\n# TYPE serve_requests_total counter\n")
	order := func(a, b request) int { return cmp.Or(cmp.Compare(a.path, b.path), a.status-b.status) }
	for _, r := range slices.SortedFunc(maps.Keys(m.requests), order) {
		fmt.Fprintf(b, "serve_requests_total{path=%q,status=\"%d\"} %d\n", r.path, r.status, m.requests[r])
	}
	b.WriteString("# HELP serve_prediction_seconds How long predictions took.\n# TYPE serve_prediction_seconds histogram\n")
	for i, most := range buckets {
		fmt.Fprintf(b, "serve_prediction_seconds_bucket{le=\"%g\"} %d\n", most.Seconds(), m.within[i])
	}
	fmt.Fprintf(b, "serve_prediction_seconds_bucket{le=\"+Inf\"} %d\nserve_prediction_seconds_sum %g\nserve_prediction_seconds_count %d\n", m.all, m.took.Seconds(), m.all)
}

// writeMetrics answers GET /metrics.
func (s *server) writeMetrics(w http.ResponseWriter, _ *http.Request) {
	var b bytes.Buffer
	s.metrics.write(&b)
	fmt.Fprintf(&b, "# HELP serve_predictions Predictions that are being computed.\n# TYPE serve_predictions gauge\nserve_predictions %d\n", len(s.turns))
	_ = s.h.WritePrometheus(&b) // which a buffer does not refuse
	w.Header().Set("Content-Type", "text/plain; version=0.0.4")
	_, _ = w.Write(b.Bytes())
}
