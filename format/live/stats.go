package live

import (
	"encoding/json"
	"time"
)

// noteChange takes down what a look at the files of generation g showed, and returns it.
func (h *Handle) noteChange(g *generation, now identity) change {
	c := g.id.change(now)
	h.mu.Lock()
	news := false
	if h.stats.Looks++; h.current.Load() == g {
		h.stats.Missing, h.stats.Stale = c == missing, c != same
		news = c == overwritten && g.shared && !h.stats.Overwritten
		if news {
			h.stats.Overwrites++
			h.stats.Overwritten = true
		}
	}
	h.mu.Unlock()
	if news {
		h.notify(Event{Kind: Overwritten, Generation: g.number, Err: h.fail(ErrOverwritten)})
	}
	return c
}

// Stats is a report on a Handle. All but Path, the counters and the last error is zero after Close.
type Stats struct {
	Path string `json:"path"`
	// Generation is the number of the current one; Format to LoadTime are about it.
	Generation uint64 `json:"generation"`
	Format     string `json:"format"`
	// FileSize, Mapped and Heap are in bytes: that of all its files, how much of it is mapped, and how much
	// is in memory (Options.Copy, and where files cannot be mapped). Files counts all that it has or names.
	FileSize int64 `json:"file_size"`
	Mapped   int64 `json:"mapped"`
	Heap     int64 `json:"heap"`
	Files    int   `json:"files"`
	// Modified is the time of the last change of its file, Since when it became current.
	Modified time.Time     `json:"modified"`
	Since    time.Time     `json:"since"`
	LoadTime time.Duration `json:"load_time_ns"`

	// Leases are held now, of all generations. Old generations are still held by some of them, or
	// being closed, with OldBytes of mappings and memory.
	Leases   int64 `json:"leases"`
	Old      int   `json:"old"`
	OldBytes int64 `json:"old_bytes"`

	// Stale says that the path led elsewhere than to the current generation when Watch or
	// Reload looked last: to what was refused, or waits for its turn, or to nothing (Missing).
	Stale   bool `json:"stale"`
	Missing bool `json:"missing"`
	// Overwritten says that its files were changed in place, and what it shows with them.
	Overwritten bool `json:"overwritten"`

	// Looks counts the looks at its files, Loads the generations that became current, Failures those
	// that did not, and Overwrites how often Overwritten became true.
	Looks      uint64 `json:"looks"`
	Loads      uint64 `json:"loads"`
	Failures   uint64 `json:"failures"`
	Overwrites uint64 `json:"overwrites"`
	// LastError is why the last of the failures failed, or an old generation was not closed well. It
	// stays when later ones do not fail.
	LastError     error     `json:"-"`
	LastErrorTime time.Time `json:"last_error_time"`
}

// Stats says what is current and what happened until now.
func (h *Handle) Stats() Stats {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := h.stats
	s.Path, s.Old = h.path, len(h.old)
	for g := range h.old {
		s.OldBytes += g.stats.Mapped + g.stats.Heap
		s.Leases += g.held()
	}
	g := h.current.Load()
	if g == nil {
		s.Stale, s.Missing, s.Overwritten = false, false, false
		return s
	}
	s.Generation, s.Format, s.Files = g.number, g.format, len(g.id.paths)-g.id.bundles
	s.FileSize, s.Mapped, s.Heap, s.Since, s.LoadTime = g.stats.FileSize, g.stats.Mapped, g.stats.Heap, g.since, g.took
	if info := g.id.infos[0]; info != nil {
		s.Modified = info.ModTime()
	}
	if _, old := h.old[g]; !old {
		s.Leases += g.held()
	}
	return s
}

// held returns how many leases a generation has, more or less while they come and go.
func (g *generation) held() int64 { return max(0, g.uses.Sum()) }

// MarshalJSON has LastError as a text and durations in nanoseconds, for
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
