package live

import (
	"encoding/json"
	"time"
)

// noteChange records the result of a look at the files of generation g, and returns the change.
func (h *Handle) noteChange(g *generation, now identity) change {
	c := g.id.change(now)
	news := false
	h.update(func(s *Stats) {
		if s.Looks++; h.current.Load() == g {
			s.Missing = c == missing
			s.Stale = c != same
			news = c == overwritten && g.shared() && !s.Overwritten
			if news {
				s.Overwrites++
				s.Overwritten = true
			}
		}
	})
	if news {
		h.notify(Event{Kind: Overwritten, Generation: g.number, Err: h.fail(ErrOverwritten)})
	}
	return c
}

// Stats is a report on a Handle. After Close all fields except Path, the counters and the last
// error are zero.
type Stats struct {
	// Path is that of the Handle.
	Path string `json:"path"`
	// Generation is the number of the current generation. Format to LoadTime describe it.
	Generation uint64 `json:"generation"`
	Format     string `json:"format"`    // the name of its format
	FileSize   int64  `json:"file_size"` // the size of all its files in bytes
	Mapped     int64  `json:"mapped"`    // the part of FileSize that is mapped
	// Heap is the part of FileSize in memory: format.Options.Private, and files that cannot be
	// mapped.
	Heap     int64         `json:"heap"`
	Files    int           `json:"files"`        // the number of its files
	Modified time.Time     `json:"modified"`     // the modification time of its file
	Since    time.Time     `json:"since"`        // when it became current
	LoadTime time.Duration `json:"load_time_ns"` // how long loading it took

	// Leases is the number of unreleased leases of all generations.
	Leases int64 `json:"leases"`
	// Old is the number of generations that are no longer current and not yet closed.
	Old int `json:"old"`
	// OldBytes is the size of their mappings and memory.
	OldBytes int64 `json:"old_bytes"`

	// Stale reports whether the last look of Watch or Reload found other files at the path than
	// those of the current generation: refused ones, new ones, or none.
	Stale bool `json:"stale"`
	// Missing reports whether the last look found no file.
	Missing bool `json:"missing"`
	// Overwritten reports whether files of the current generation were changed in place.
	Overwritten bool `json:"overwritten"`

	Looks uint64 `json:"looks"` // the number of looks at the path
	Loads uint64 `json:"loads"` // the number of generations that became current
	// Failures counts how often a generation was refused, retries included. Options.Notify reports
	// each failure once.
	Failures   uint64 `json:"failures"`
	Overwrites uint64 `json:"overwrites"` // how often Overwritten became true
	// LastError is the error of the last failed load, or of closing an old generation. Later loads
	// that succeed do not reset it.
	LastError error `json:"-"`
	// LastErrorTime is the time of LastError.
	LastErrorTime time.Time `json:"last_error_time"`
}

// Stats returns a report on the current generation and the counters of the handle.
func (h *Handle) Stats() Stats {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := h.stats
	g := h.current.Load()
	s.Path = h.path
	for open := range h.all {
		s.Leases += max(0, open.uses.Sum())
		if open != g {
			s.Old++
			s.OldBytes += open.stats.Mapped + open.stats.Heap
		}
	}
	if g == nil {
		s.Stale = false
		s.Missing = false
		s.Overwritten = false
		return s
	}
	s.Generation = g.number
	s.Format = g.model.Format()
	s.Files = len(g.id.paths) - len(h.bundles())
	s.FileSize = g.stats.FileSize
	s.Mapped = g.stats.Mapped
	s.Heap = g.stats.Heap
	s.Since = g.since
	s.LoadTime = g.took
	if info := g.id.infos[0]; info != nil {
		s.Modified = info.ModTime()
	}
	return s
}

// MarshalJSON encodes LastError as a string and durations in nanoseconds, for
// expvar.Publish("model", expvar.Func(func() any { return h.Stats() })).
func (s Stats) MarshalJSON() ([]byte, error) {
	type fields Stats
	out := struct {
		fields
		LastError string `json:"last_error"`
	}{fields: fields(s)}
	if s.LastError != nil {
		out.LastError = s.LastError.Error()
	}
	return json.Marshal(out)
}
