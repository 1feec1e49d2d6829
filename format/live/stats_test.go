package live

import (
	"context"
	"encoding/json"
	"expvar"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// published is a handle as a variable.
func published(h *Handle) expvar.Var { return expvar.Func(func() any { return h.Stats() }) }

func TestExpvar(t *testing.T) {
	h, path := start(t, demanding())
	replace(t, path, nil)
	_, err := h.Reload(context.Background())
	l, acquired := h.Acquire()
	if err == nil || acquired != nil {
		t.Fatal(err, acquired)
	}
	defer l.Release()
	// What the system says of a handle gets values that tests can compare.
	g := h.current.Load()
	g.since, g.took = time.Unix(1700000000, 500e6), 250*time.Millisecond
	g.stats.Mapped, g.stats.Heap, g.stats.FileSize = 16588, 5, 16588
	g.id.infos[0] = nil
	h.stats.LastErrorTime = time.Time{}
	var got map[string]any
	must(t, json.Unmarshal([]byte(published(h).String()), &got))
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
	must(t, h.Close())
	if text := published(h).String(); !strings.Contains(text, `"generation":0,`) || !strings.Contains(text, `"failures":1,`) {
		t.Error(text)
	}
}
