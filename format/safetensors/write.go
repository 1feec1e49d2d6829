package safetensors

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/jsontext"
	"github.com/weightmap/weightmap/internal/shards"
	"github.com/weightmap/weightmap/internal/textmeta"
	"github.com/weightmap/weightmap/internal/wire"
	"github.com/weightmap/weightmap/tensor"
)

// Losses implements driver.Writer.
func (fileFormat) Losses(p *schema.Schema, _ *driver.LayoutOptions, l *schema.LossList) error {
	l.AllQuantization(p, "the format has no quantization parameters")
	l.AnyGraph(p, "the format has no graph")
	l.UniqueMetadata(p, func(_ int, e schema.Entry) error { return checkEntry(p.Metadata, e) })
	for i := range p.Tensors {
		t := &p.Tensors[i]
		if rankOf(t) < 0 && !isListed(t) {
			l.Fixed(schema.LossDType, t.Name, fmt.Errorf("%w: the format has no %s",
				format.ErrUnsupported, t.TypeName()))
		}
		if t.Name == metadataKey {
			l.Renamed(p, i, "the format keeps its metadata under this name")
		}
	}
	return nil
}

// checkEntry returns an error for an entry of the metadata that a header cannot have.
func checkEntry(all schema.Metadata, e schema.Entry) error {
	err := textmeta.Check(all, e)
	if err != nil {
		return err
	}
	text, err := e.Text()
	if err != nil {
		return err
	}
	if !utf8.ValidString(e.Key + text) {
		return fmt.Errorf("%w: invalid UTF-8", format.ErrCorrupt)
	}
	return nil
}

// Layout implements driver.Writer.
func (fileFormat) Layout(p *schema.Schema, _ *driver.LayoutOptions) (*driver.Layout, error) {
	n := len(p.Tensors)
	l := &driver.Layout{Offsets: make([]int64, n)}
	const around = 80 // besides the name, about the size of a header entry
	w := jsontext.Writer{B: make([]byte, lengthSize, lengthSize+2*around*(1+n))}
	w.Raw("{")
	if len(p.Metadata) > 0 {
		writeMetadata(&w, p.Metadata)
	}
	for _, e := range ordered(p) {
		t := &p.Tensors[e.tensor]
		dtype := t.TypeName()
		if e.dtype >= 0 {
			dtype = dtypes[e.dtype].name
		}
		w.Key(len(w.B)-lengthSize-1, e.name)
		w.Raw(`{"dtype":`)
		w.Text(dtype)
		w.Raw(`,"shape":`)
		jsontext.List(&w, t.Shape, w.Int)
		w.Raw(`,"data_offsets":`)
		jsontext.List(&w, []int64{l.Size, l.Size + t.Size}, w.Int)
		w.Raw("}")
		l.Offsets[e.tensor] = l.Size
		l.Size += t.Size
	}
	w.Raw("}")
	b, err := w.Done()
	if err != nil {
		return nil, err
	}
	b = append(b, bytes.Repeat([]byte{' '}, -len(b)&(headerAlign-1))...)
	start := int64(len(b))
	if start-lengthSize > maxHeader {
		return nil, wire.Refuse(formatName, "header", "%w: a header of %d bytes, the most is %d",
			format.ErrLimit, start-lengthSize, maxHeader)
	}
	binary.LittleEndian.PutUint64(b, uint64(start-lengthSize))
	for i := range l.Offsets {
		l.Offsets[i] += start
	}
	l.Size += start
	l.Parts = []driver.Part{{Bytes: b}}
	return l, nil
}

// headerEntry is a tensor of the header.
type headerEntry struct {
	tensor int // in the schema
	name   string
	dtype  int // in dtypes, or -1
}

// ordered returns the tensors in the order of the reference: by descending index in dtypes, then by
// name. Unknown dtypes come last.
func ordered(p *schema.Schema) []headerEntry {
	entries := make([]headerEntry, len(p.Tensors))
	for i := range entries {
		entries[i] = headerEntry{i, nameOf(p, i), rankOf(&p.Tensors[i])}
	}
	slices.SortFunc(entries, func(a, b headerEntry) int {
		return cmp.Or(b.dtype-a.dtype, strings.Compare(a.name, b.name))
	})
	return entries
}

// writeMetadata writes __metadata__, which Losses has checked.
func writeMetadata(w *jsontext.Writer, m schema.Metadata) {
	w.Text(metadataKey)
	w.Raw(":{")
	for i, e := range textmeta.Encode(m) {
		text, _ := e.Value.(string)
		w.Key(i, e.Key)
		w.Text(text)
	}
	w.Raw("}")
}

// nameOf returns the name to write for tensor i. The reserved name gets a suffix.
func nameOf(p *schema.Schema, i int) string {
	name := p.Tensors[i].Name
	if name != metadataKey {
		return name
	}
	for slices.ContainsFunc(p.Tensors, func(t tensor.Info) bool { return t.Name == name }) {
		name += "_"
	}
	return name
}

// Places implements driver.Splitter with the names of the Hugging Face Hub.
func (fileFormat) Places(path string) driver.Places {
	file := strings.TrimSuffix(path, indexEnd)
	return driver.Places{
		File:  file,
		Index: file + indexEnd,
		Stem:  strings.TrimSuffix(file, extension),
	}
}

// Split implements driver.Splitter. Every shard has all metadata.
func (fileFormat) Split([]*schema.Schema) {}

// Index implements driver.Splitter.
func (fileFormat) Index(parts []*schema.Schema, names []string) ([]byte, error) {
	total := int64(0)
	entries := jsontext.Writer{}
	for i, p := range parts {
		for k := range p.Tensors {
			if len(entries.B) > 0 {
				entries.Raw(",")
			}
			entries.Raw("\n    ")
			entries.Text(nameOf(p, k))
			entries.Raw(": ")
			entries.Text(names[i])
			total += p.Tensors[k].Size
		}
	}
	text, err := entries.Done()
	if err != nil {
		return nil, fmt.Errorf("%w: the name of a file or a tensor: %w", format.ErrSchema, err)
	}
	const index = `{
  "metadata": {
    "total_size": %d
  },
  "weight_map": {%s
  }
}
`
	return fmt.Appendf(nil, index, total, text), nil
}

// Listed implements driver.Splitter.
func (fileFormat) Listed(index []byte) ([]string, error) {
	m, err := shards.Parse(formatName, index, nil)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, s := range m.Shards {
		names = append(names, s.Name)
	}
	return names, nil
}
