package format

import (
	"math"
	"path"
	"path/filepath"
	"strings"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/disk"
	"github.com/weightmap/weightmap/internal/shards"
)

// Part returns which part of a model of several files this file is, counted from 1, and how many
// there are. Both are 0 if it is no part, which includes a model that was opened with all its
// parts: by its index, its directory, or the first part of a split GGUF model.
//
// A file is a part if it says so (split.no and split.count of GGUF), if an index in its directory
// lists it beside others, or if it is called like one, as model-00001-of-00002.safetensors is. The
// first call of Part or Notes looks for the index; behind a reader, and under Options.Trusted, only
// the file and its name count. Create refuses to write the schema of a part as if it were a model,
// unless WriteOptions.AcceptLoss has "part".
func (m *Model) Part() (index, count int) {
	p := m.part()
	return p.No, p.Count
}

// part finds out what the file is a part of.
func (m *Model) part() shards.Part {
	m = m.opened()
	if m == dead || m.isDir {
		return shards.Part{}
	}
	m.place.once.Do(func() {
		parsed := m.parsed
		if parsed.Parts > 0 && parsed.Part == 0 {
			return // all parts are open
		}
		m.place.part = m.namedPart()
		if parsed.Part > 0 {
			m.place.part.No = parsed.Part
			m.place.part.Count = parsed.Parts
		}
	})
	return m.place.part
}

// namedPart returns what the name of the file and the files beside it say.
func (m *Model) namedPart() shards.Part {
	memory := &driver.Memory{}
	left := m.memory.Left()
	if left < math.MaxInt64 {
		memory.Limit(max(left, 1))
	}
	c := m.c
	switch {
	case c.options.Trusted != nil: // an index beside the file is none of the files that were compared
		return shards.PartByName(filepath.Base(m.place.name))
	case c.fs != nil:
		dir := disk.OpenFS(c.fs, path.Dir(c.name), c.options.Root)
		return shards.PartOf(dir.Files(), path.Base(c.name), memory)
	case m.Path() != "":
		dir := disk.OpenDir(filepath.Dir(m.Path()), c.options.Root)
		defer dir.Close()
		return shards.PartOf(dir.Files(), filepath.Base(m.Path()), memory)
	}
	name, _, _ := strings.Cut(m.place.name, "?") // of a URL
	return shards.PartByName(path.Base(name))
}
