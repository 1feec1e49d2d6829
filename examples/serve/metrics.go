package main

import (
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/weightmap/weightmap/format/live"
)

// metrics are the metrics of the service and of its model.
type metrics struct {
	registry *prometheus.Registry
	requests *prometheus.CounterVec // by path and status; only for known paths
	took     prometheus.Histogram   // predictions, in seconds
}

func newMetrics(h *live.Handle, running func() int) *metrics {
	m := &metrics{
		registry: prometheus.NewRegistry(),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "serve_requests_total", Help: "Requests that were answered."}, []string{"path", "status"}),
		took: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "serve_prediction_seconds", Help: "How long predictions took.",
			Buckets: []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .1, 1},
		}),
	}
	m.registry.MustRegister(m.requests, m.took, modelStats{h}, prometheus.NewGaugeFunc(
		prometheus.GaugeOpts{Name: "serve_predictions", Help: "Predictions that are being computed."}, func() float64 { return float64(running()) }))
	return m
}

func (m *metrics) count(path string, status int) {
	m.requests.WithLabelValues(path, strconv.Itoa(status)).Inc()
}

func (m *metrics) predicted(took time.Duration) { m.took.Observe(took.Seconds()) }

// handler serves GET /metrics.
func (m *metrics) handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
}

// modelStats exports the Stats of a live model.
type modelStats struct{ h *live.Handle }

// stat is one of them.
type stat struct {
	desc  *prometheus.Desc
	kind  prometheus.ValueType
	value func(*live.Stats) float64
}

func gauge(name, help string, value func(*live.Stats) float64) stat {
	return stat{prometheus.NewDesc("weightmap_live_"+name, help, []string{"path"}, nil), prometheus.GaugeValue, value}
}

func counter(name, help string, value func(*live.Stats) float64) stat {
	s := gauge(name, help, value)
	s.kind = prometheus.CounterValue
	return s
}

var modelMetrics = []stat{
	gauge("generation", "Number of the current generation, 0 after Close.", func(s *live.Stats) float64 { return float64(s.Generation) }),
	gauge("since_timestamp_seconds", "When the current generation became current.", func(s *live.Stats) float64 { return float64(s.Since.UnixMilli()) / 1000 }),
	gauge("load_seconds", "How long the current generation took to load.", func(s *live.Stats) float64 { return s.LoadTime.Seconds() }),
	gauge("file_bytes", "Size of the files of the current generation.", func(s *live.Stats) float64 { return float64(s.FileSize) }),
	gauge("leases", "Leases that are held, of all generations.", func(s *live.Stats) float64 { return float64(s.Leases) }),
	gauge("old_bytes", "Bytes of generations that were replaced and are still held.", func(s *live.Stats) float64 { return float64(s.OldBytes) }),
	gauge("stale", "Whether the path leads elsewhere than to the current generation.", func(s *live.Stats) float64 { return bit(s.Stale) }),
	gauge("overwritten", "Whether the files of the current generation were changed in place.", func(s *live.Stats) float64 { return bit(s.Overwritten) }),
	counter("loads_total", "Generations that became current.", func(s *live.Stats) float64 { return float64(s.Loads) }),
	counter("failures_total", "Generations that were refused or could not be loaded.", func(s *live.Stats) float64 { return float64(s.Failures) }),
}

func bit(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// Describe implements prometheus.Collector.
func (m modelStats) Describe(to chan<- *prometheus.Desc) {
	for _, s := range modelMetrics {
		to <- s.desc
	}
}

// Collect implements prometheus.Collector.
func (m modelStats) Collect(to chan<- prometheus.Metric) {
	stats := m.h.Stats()
	for _, s := range modelMetrics {
		to <- prometheus.MustNewConstMetric(s.desc, s.kind, s.value(&stats), stats.Path)
	}
}
