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

// parser reads a file. What remains of a model is the zip.Tensors of all its files.
type parser struct {
	file    *zip.File
	tensors *zip.Tensors // of all files
	opts    *driver.ParseOptions
	index   *driver.Index // of this file
	walk    *pickle.Walk
	places  []zip.Place // by tensor of this file
	notes   []string

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
func (fileFormat) Parse(src driver.Source, x *driver.Index, o *driver.ParseOptions) (*driver.Parsed,
	error) {
	head, err := driver.Prefix(src, driver.SniffLen)
	if err != nil {
		return nil, err
	}
	m := &zip.Tensors{Index: x, Memory: o.Memory}
	out := &driver.Parsed{Load: m.Load, Sums: m.Sums, SumsOf: m.SumsOf}
	if bytes.HasPrefix(bytes.TrimLeft(head, " \t\r\n"), []byte("{")) {
		return out, parseIndex(m, src, o, out)
	}
	p, err := parseFile(m, src, 0, x, o)
	if err != nil {
		return nil, err
	}
	m.Places = p.places
	out.Metadata = p.walk.Metadata
	out.Notes = p.notes
	out.Stream = m.Streamer()
	return out, nil
}

// isIndex reports whether head begins an index of several files.
func isIndex(head []byte) bool {
	head = bytes.TrimLeft(head, " \t\r\n")
	return bytes.HasPrefix(head, []byte("{")) && bytes.Contains(head, []byte(`"weight_map"`)) &&
		bytes.Contains(head, []byte(`.bin"`))
}

// parseIndex parses an index and all the files it names. If files have metadata with the same key,
// the first value counts.
func parseIndex(m *zip.Tensors, src driver.Source, o *driver.ParseOptions, out *driver.Parsed) error {
	files := &modelFiles{tensors: m}
	all, _, err := files.model().Parse(src, m.Index, o)
	if err != nil {
		return err
	}
	files.merge(all[1:], out) // that of the index describes the files
	out.Stream = m.Streamer()
	return nil
}

// ParseParts implements driver.PartsParser.
func (fileFormat) ParseParts(d driver.Dir, names []string, x *driver.Index,
	o *driver.ParseOptions) (*driver.Parsed, error) {
	m := &zip.Tensors{Index: x, Memory: o.Memory}
	files := &modelFiles{tensors: m}
	all, err := files.model().ParseNames(d, names, x, o)
	if err != nil {
		return nil, err
	}
	out := &driver.Parsed{Load: m.Load, Stream: m.Streamer(), Sums: m.Sums, SumsOf: m.SumsOf}
	files.merge(all, out)
	out.Notes = append(out.Notes, shards.NoIndex(len(names)))
	return out, nil
}

// modelFiles are the files of a model of several.
type modelFiles struct {
	tensors *zip.Tensors
	parsers []*parser
}

// model returns how the files are opened.
func (f *modelFiles) model() *shards.Model {
	return &shards.Model{Format: formatName, Open: f.open, Placed: f.place}
}

// open parses a file.
func (f *modelFiles) open(src driver.Source, space driver.Space, x *driver.Index,
	o *driver.ParseOptions) (schema.Metadata, error) {
	p, err := parseFile(f.tensors, src, space, x, o)
	if err != nil {
		return nil, err
	}
	f.parsers = append(f.parsers, p)
	f.tensors.Index.Version = x.Version
	return p.walk.Metadata, nil
}

// place lists the place of a file's tensor i, which is the next of the model.
func (f *modelFiles) place(file, i int) {
	f.tensors.Places = append(f.tensors.Places, f.parsers[file].places[i])
}

// merge sets the metadata and the notes of the model.
func (f *modelFiles) merge(all []schema.Metadata, out *driver.Parsed) {
	for _, p := range f.parsers {
		out.Notes = append(out.Notes, p.notes...)
	}
	out.Metadata, _ = shards.Merge(all...)
	slices.Sort(out.Notes)
	out.Notes = slices.Compact(out.Notes)
}

// parseFile parses any container in the given address space and lists its tensors in x.
func parseFile(m *zip.Tensors, src driver.Source, space driver.Space, x *driver.Index,
	o *driver.ParseOptions) (*parser, error) {
	file := &zip.File{Src: src, Space: space}
	p := &parser{file: file, tensors: m, opts: o, index: x, holder: -1}
	p.walk = pickle.NewWalk(p, o.Memory, pickle.RootName(src.Path()))
	b, err := driver.Prefix(src, driver.SniffLen)
	if err != nil {
		return nil, err
	}
	switch {
	case bytes.HasPrefix(b, []byte(zip.LocalMagic)):
		err = p.parseArchive()
	case isLegacy(b):
		err = p.parseLegacy()
	case pickle.Begins(b):
		err = p.parsePlain()
	case len(b) == 0:
		err = wire.Errorf("", "magic", 0, format.ErrMagic, "the file is empty")
	default:
		err = wire.Errorf("", "magic", 0, format.ErrMagic,
			"% x instead of a ZIP archive or a pickle", b[:min(len(b), 8)])
	}
	if err != nil {
		return nil, err
	}
	p.walk.Finish()
	p.notes = append(p.notes, p.walk.Notes...)
	return p, nil
}

// storeBytes is the approximate size of a storage's bookkeeping in memory.
const storeBytes = 160 + zip.SumBytes

// addStore adds a storage to those of the model.
func (p *parser) addStore(e zip.Entry) int {
	p.tensors.Stores = append(p.tensors.Stores, e)
	return len(p.tensors.Stores) - 1
}

// Tensor implements pickle.Finder.
func (p *parser) Tensor(t *driver.Tensor, place zip.Place) (taken bool, err error) {
	store := &p.tensors.Stores[place.Store]
	t.Space = store.Space
	store.Locate(t, &place)
	if p.index.Add(t) != nil {
		return p.index.Err() == nil, p.index.Err()
	}
	p.places = append(p.places, place)
	return false, nil
}

// Data implements pickle.Finder. The bytes are in the pickle.
func (p *parser) Data(at, n int64, text *zip.Text) zip.Place {
	if p.holder < 0 {
		p.holder = p.addStore(p.held)
	}
	place := zip.Place{Store: p.holder, From: at - p.container, Extent: n}
	if text != nil {
		text.At = place.From
		place.From = 0
		place.Text = text
	}
	return place
}
