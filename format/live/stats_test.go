package live

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"expvar"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var _ expvar.Var = Var{}

// fixed gives what the system says of a handle values that tests can print.
func fixed(h *Handle) {
	g := h.current.Load()
	g.since, g.took = time.Unix(1700000000, 500e6), 250*time.Millisecond
	g.stats.Mapped, g.stats.Heap, g.stats.FileSize = 16588, 5, 16588
	g.id.infos[0] = nil
	h.state.lastErrorTime = time.Time{}
}

func TestVar(t *testing.T) {
	h, path := start(t, demanding())
	replace(t, path, nil)
	_, err := h.Reload(context.Background())
	l, acquired := h.Acquire()
	if err == nil || acquired != nil {
		t.Fatal(err, acquired)
	}
	defer l.Release()
	fixed(h)
	var got map[string]any
	if err := json.Unmarshal([]byte(h.Var().String()), &got); err != nil {
		t.Fatal(err)
	}
	since, errs := got["since"].(string), got["last_error"]
	delete(got, "since")
	if at, err := time.Parse(time.RFC3339, since); err != nil || !at.Equal(time.Unix(1700000000, 500e6)) {
		t.Error(since, err)
	}
	if errs != err.Error() {
		t.Errorf("last error %v, want %v", errs, err)
	}
	delete(got, "last_error")
	want := map[string]any{
		"path": path, "generation": 1., "format": "mle", "file_size": 16588., "mapped": 16588., "heap": 5., "files": 1.,
		"modified": "0001-01-01T00:00:00Z", "load_time_ns": 250e6, "leases": 1., "old": 0., "old_bytes": 0.,
		"stale": true, "missing": false, "overwritten": false,
		"looks": 1., "loads": 1., "failures": 1., "overwrites": 0., "last_error_time": "0001-01-01T00:00:00Z",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if err := h.Close(); err != nil {
		t.Error(err)
	}
	if text := h.Var().String(); !strings.Contains(text, `"generation":0,`) || !strings.Contains(text, `"failures":1,`) {
		t.Error(text)
	}
}

func TestWritePrometheus(t *testing.T) {
	h, _ := start(t, nil)
	other, _ := start(t, nil)
	fixed(h)
	h.path, other.path = "a\\b\"c\n\xff", filepath.ToSlash("models/two")
	if err := other.Close(); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := WritePrometheus(&out, h, other); err != nil {
		t.Fatal(err)
	}
	const first = `{path="a\\b\"c\n` + "\uFFFD" + `"}`
	for _, want := range []string{
		"# HELP weightmap_live_generation Number of the current generation, 0 after Close.\n# TYPE weightmap_live_generation gauge\n" +
			"weightmap_live_generation" + first + " 1\nweightmap_live_generation{path=\"models/two\"} 0\n# HELP",
		"\nweightmap_live_since_timestamp_seconds" + first + " 1.7000000005e+09\n",
		"\nweightmap_live_modified_timestamp_seconds" + first + " 0\n",
		"\nweightmap_live_load_seconds" + first + " 0.25\n",
		"\nweightmap_live_file_bytes" + first + " 16588\n",
		"\n# TYPE weightmap_live_loads_total counter\nweightmap_live_loads_total" + first + " 1\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
	if n := strings.Count(out.String(), "\n"); n != 4*len(metrics) {
		t.Errorf("%d lines of %d metrics", n, len(metrics))
	}
	if err := h.WritePrometheus(failing{}); !errors.Is(err, errShape) {
		t.Error(err)
	}
}

// failing is a writer that fails.
type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, errShape }
