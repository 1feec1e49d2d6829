package torch

import (
	"bytes"
	"slices"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/pickle"
	"github.com/weightmap/weightmap/internal/shards"
	"github.com/weightmap/weightmap/internal/wire"
	"github.com/weightmap/weightmap/internal/zip"
)

// reading is the state while a file is parsed.
type reading struct {
	file   *zip.File
	m      *zip.Tensors // of all files
	o      *driver.ParseOptions
	x      *driver.Index // of this file
	walk   *pickle.Walk
	places []zip.Place // by tensor of this file
	notes  []string

	container int64                    // offset of the pickle in the file, or of the entry that has it
	holder    int                      // the store that has the pickle, or -1
	held      zip.Entry                // that store, before it is one
	keys      map[string]int           // index of each storage
	big       bool                     // elements are big-endian
	old       map[string]root          // the storages of the legacy container, by key
	nested    map[int64]pickle.Storage // storages in the pickle, by the offsets of their bytes
	folder    *folder                  // of an archive that was unpacked, or nil
}

// Parse implements driver.Driver. It parses either container, or an index of several files.
func (fileFormat) Parse(src driver.Source, x *driver.Index, o *driver.ParseOptions) (*driver.Parsed, error) {
	head, err := driver.Prefix(src, driver.SniffLen)
	if err != nil {
		return nil, err
	}
	m := &zip.Tensors{Index: x, Memory: o.Memory}
	out := &driver.Parsed{Load: m.Load, Sums: m.Sums, SumsOf: m.SumsOf}
	if bytes.HasPrefix(bytes.TrimLeft(head, " \t\r\n"), []byte("{")) {
		return out, parseIndex(m, src, o, out)
	}
	r, err := parseFile(m, src, 0, x, o)
	m.Places = r.places
	out.Metadata = r.walk.Metadata
	out.Notes = r.notes
	out.Stream = m.Streamer()
	return out, err
}

// isIndex reports whether head begins an index of several files.
func isIndex(head []byte) bool {
	head = bytes.TrimLeft(head, " \t\r\n")
	return bytes.HasPrefix(head, []byte("{")) && bytes.Contains(head, []byte(`"weight_map"`)) && bytes.Contains(head, []byte(`.bin"`))
}

// parseIndex parses an index and all the files it names. If files have metadata with the same key,
// the first value counts.
func parseIndex(m *zip.Tensors, src driver.Source, o *driver.ParseOptions, out *driver.Parsed) error {
	join, files := joining(m)
	all, _, err := join.Parse(src, m.Index, o)
	if err != nil {
		return err
	}
	files.merge(all[1:], out) // that of the index describes the files
	out.Stream = m.Streamer()
	return nil
}

// ParseParts implements driver.PartsParser.
func (fileFormat) ParseParts(d driver.Dir, names []string, x *driver.Index, o *driver.ParseOptions) (*driver.Parsed, error) {
	m := &zip.Tensors{Index: x, Memory: o.Memory}
	join, files := joining(m)
	all, err := join.ParseNames(d, names, x, o)
	if err != nil {
		return nil, err
	}
	out := &driver.Parsed{Load: m.Load, Stream: m.Streamer(), Sums: m.Sums, SumsOf: m.SumsOf}
	files.merge(all, out)
	out.Notes = append(out.Notes, shards.NoIndex(len(names)))
	return out, nil
}

// readings are the files of a model.
type readings struct{ list []*reading }

// joining returns what opens a model of several files, and the files that it opens.
func joining(m *zip.Tensors) (*shards.Model, *readings) {
	files := &readings{}
	return &shards.Model{Format: formatName, Open: func(src driver.Source, s driver.Space, y *driver.Index, o *driver.ParseOptions) (schema.Metadata, error) {
		r, err := parseFile(m, src, s, y, o)
		files.list = append(files.list, r)
		m.Index.Version = y.Version
		return r.walk.Metadata, err
	}, Placed: func(file, i int) {
		m.Places = append(m.Places, files.list[file].places[i])
	}}, files
}

// merge sets the metadata and the notes of a model of several files.
func (f *readings) merge(all []schema.Metadata, out *driver.Parsed) {
	for _, r := range f.list {
		out.Notes = append(out.Notes, r.notes...)
	}
	out.Metadata, _ = shards.Merge(all...)
	slices.Sort(out.Notes)
	out.Notes = slices.Compact(out.Notes)
}

// parseFile parses any container in the given address space and lists its tensors in x.
func parseFile(m *zip.Tensors, src driver.Source, space driver.Space, x *driver.Index, o *driver.ParseOptions) (*reading, error) {
	r := &reading{file: &zip.File{Src: src, Space: space}, m: m, o: o, x: x, holder: -1}
	r.walk = pickle.NewWalk(r, o.Memory, pickle.RootName(src.Path()))
	b, err := driver.Prefix(src, driver.SniffLen)
	if err != nil {
		return r, err
	}
	switch {
	case bytes.HasPrefix(b, []byte(zip.LocalMagic)):
		err = r.parseArchive()
	case isLegacy(b):
		err = r.parseLegacy()
	case pickle.Begins(b):
		err = r.parsePlain()
	case len(b) == 0:
		err = wire.Errorf("", "magic", 0, format.ErrMagic, "the file is empty")
	default:
		err = wire.Errorf("", "magic", 0, format.ErrMagic, "the file begins with % x, neither a ZIP archive nor a pickle", b[:min(len(b), 8)])
	}
	r.walk.Finish()
	r.notes = append(r.notes, r.walk.Notes...)
	return r, err
}

// storeBytes is the approximate size of a storage's bookkeeping in memory.
const storeBytes = 160 + zip.SumBytes

// addStore adds a storage to those of the model.
func (r *reading) addStore(e zip.Entry) int {
	r.m.Stores = append(r.m.Stores, e)
	return len(r.m.Stores) - 1
}

// Tensor implements pickle.Finder.
func (r *reading) Tensor(t *driver.Tensor, p zip.Place) (taken bool, err error) {
	t.Space = r.m.Stores[p.Store].Space
	r.m.Stores[p.Store].Locate(t, &p)
	if err := r.x.Add(t); err != nil {
		return r.x.Err() == nil, r.x.Err()
	}
	r.places = append(r.places, p)
	return false, nil
}

// Data implements pickle.Finder. The bytes are in the pickle.
func (r *reading) Data(at, n int64, text *zip.Text) zip.Place {
	if r.holder < 0 {
		r.holder = r.addStore(r.held)
	}
	p := zip.Place{Store: r.holder, From: at - r.container, Extent: n}
	if text != nil {
		text.At = p.From
		p.From = 0
		p.Text = text
	}
	return p
}
