package live

import (
	"bytes"
	"io"
	"strconv"
	"strings"
	"time"
)

// metric is one in Prometheus' text form.
type metric struct {
	name, kind, help string
	value            func(*Stats) float64
}

const prefix = "weightmap_live_"

var metrics = []metric{
	{"generation", "gauge", "Number of the current generation, 0 after Close.", func(s *Stats) float64 { return float64(s.Generation) }},
	{"since_timestamp_seconds", "gauge", "When the current generation became current.", func(s *Stats) float64 { return seconds(s.Since) }},
	{"modified_timestamp_seconds", "gauge", "When the file of the current generation was changed last.", func(s *Stats) float64 { return seconds(s.Modified) }},
	{"load_seconds", "gauge", "How long the current generation took to load.", func(s *Stats) float64 { return s.LoadTime.Seconds() }},
	{"file_bytes", "gauge", "Size of the files of the current generation.", func(s *Stats) float64 { return float64(s.FileSize) }},
	{"mapped_bytes", "gauge", "How much of them is mapped.", func(s *Stats) float64 { return float64(s.Mapped) }},
	{"heap_bytes", "gauge", "How much of them is in memory instead.", func(s *Stats) float64 { return float64(s.Heap) }},
	{"leases", "gauge", "Leases that are held, of all generations.", func(s *Stats) float64 { return float64(s.Leases) }},
	{"old_generations", "gauge", "Generations that were replaced and are still held.", func(s *Stats) float64 { return float64(s.Old) }},
	{"old_bytes", "gauge", "How much of their files is mapped or in memory.", func(s *Stats) float64 { return float64(s.OldBytes) }},
	{"stale", "gauge", "Whether the path leads elsewhere than to the current generation.", func(s *Stats) float64 { return flag(s.Stale) }},
	{"missing", "gauge", "Whether the path leads nowhere.", func(s *Stats) float64 { return flag(s.Missing) }},
	{"overwritten", "gauge", "Whether the files of the current generation were changed in place.", func(s *Stats) float64 { return flag(s.Overwritten) }},
	{"looks_total", "counter", "Looks at the files.", func(s *Stats) float64 { return float64(s.Looks) }},
	{"loads_total", "counter", "Generations that became current.", func(s *Stats) float64 { return float64(s.Loads) }},
	{"failures_total", "counter", "Generations that were refused or could not be loaded.", func(s *Stats) float64 { return float64(s.Failures) }},
	{"overwrites_total", "counter", "How often files were found changed in place.", func(s *Stats) float64 { return float64(s.Overwrites) }},
}

// WritePrometheus writes Stats in Prometheus' text form, version 0.0.4
// (text/plain; version=0.0.4), with the path as a label. It needs no library of Prometheus.
func (h *Handle) WritePrometheus(w io.Writer) error { return WritePrometheus(w, h) }

// WritePrometheus writes the Stats of several handles, as the text form wants them: all
// values of a metric together.
func WritePrometheus(w io.Writer, handles ...*Handle) error {
	stats := make([]Stats, len(handles))
	for i, h := range handles {
		stats[i] = h.Stats()
	}
	var b bytes.Buffer
	for _, m := range metrics {
		name := prefix + m.name
		b.WriteString("# HELP " + name + " " + m.help + "\n# TYPE " + name + " " + m.kind + "\n")
		for i := range stats {
			b.WriteString(name + `{path="` + label(stats[i].Path) + `"} `)
			b.WriteString(strconv.FormatFloat(m.value(&stats[i]), 'g', -1, 64) + "\n")
		}
	}
	_, err := w.Write(b.Bytes())
	return err
}

// label escapes the value of a label.
func label(s string) string {
	return strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(strings.ToValidUTF8(s, "\uFFFD"))
}

// seconds is a time as Prometheus has it, 0 for none.
func seconds(t time.Time) float64 {
	if t.IsZero() {
		return 0
	}
	return float64(t.UnixMilli()) / 1000
}

func flag(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
