package wia

import (
	"errors"
	"fmt"
	"io"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/jsonmeta"
	"github.com/weightmap/weightmap/internal/protobuf"
	"github.com/weightmap/weightmap/internal/wire"
	"github.com/weightmap/weightmap/tensor"
)

// parsed is what is kept of an open file beyond its index, all in private memory
// but the tensor block.
type parsed struct {
	src       driver.Source
	index     *driver.Index
	hdr       header
	most      int64 // Options.MaxHeaderBytes
	memory    *driver.Memory
	opts      driver.Options // of opening, but for its context
	meta      payload
	graph     payload
	tensors   payload
	signature *signatures             // nil without a signature block
	sums      sums                    // of the signature block
	records   []record                // by tensor
	stored    []stored                // of tensors that are decoded, by record.more
	digests   []digest                // of external tensors, by record.more
	hidden    []elsewhere             // external data of attributes and subgraphs
	spaces    map[string]driver.Space // by location
	carriers  bool                    // initializers of the graph carry data
	touched   [numBlocks]bool         // blocks whose sums were checked before first use

}

// parse reads the structure: everything but tensor data and external files.
func parse(src driver.Source, x *driver.Index, o *driver.Options) (*parsed, error) {
	f := &parsed{src: src, index: x, most: o.MaxHeaderBytes, memory: o.Memory, opts: *o}
	f.opts.Context = nil
	if err := f.parse(o); err != nil {
		return nil, err
	}
	return f, nil
}

func (f *parsed) parse(o *driver.Options) error {
	if err := f.hdr.parse(f.src); err != nil {
		return err
	}
	f.index.Version = f.hdr.version()
	l := &loader{src: f.src, hdr: &f.hdr, o: o, scratch: scratches.Get().(*scratch)}
	defer l.scratch.free()
	if err := l.unlock(); err != nil {
		return err
	}
	return f.read(l)
}

// read reads the blocks, each after those that it depends on.
func (f *parsed) read(l *loader) error {
	if err := f.readMetadata(l); err != nil {
		return err
	}
	if err := f.readGraph(l); err != nil {
		return err
	}
	if err := f.readTensors(l); err != nil {
		return err
	}
	return f.readSignatures(l)
}

func (f *parsed) readMetadata(l *loader) (err error) {
	stored := f.hdr.blocks[metadataBlock].size
	if err = l.load(&f.meta, metadataBlock, l.o.MetadataLimit(stored)); err != nil {
		return err
	}
	if f.meta.Size == 0 && stored > 0 {
		return wire.Errorf(formatName, "metadata", f.meta.at, tensor.ErrCorrupt, "no JSON object in a block that is not empty")
	}
	if f.meta.Size == 0 {
		return nil
	}
	err = jsonmeta.Check(f.meta.Win, jsonmeta.Options{Entries: func(n int) error {
		// The text itself has a limit of its own.
		size := int64(n) * jsonmeta.EntryBytes
		if err := f.memory.Build(size, stored); err != nil {
			return wire.Error(formatName, "metadata", f.meta.at, err)
		}
		f.memory.Release(size)
		return nil
	}})
	if err == nil {
		return nil
	}
	if errors.Is(err, tensor.ErrLimit) {
		return err
	}
	at := int64(0)
	if e, ok := err.(*jsonmeta.Error); ok {
		at = e.Offset
	}
	return f.meta.locate("metadata", &protobuf.Defect{At: at, Err: err})
}

func (f *parsed) readGraph(l *loader) (err error) {
	if err = l.load(&f.graph, graphBlock, l.o.GraphLimit(f.hdr.blocks[graphBlock].size)); err != nil {
		return err
	}
	return f.checkWire(&l.scratch.tally, l.o.MaxTensors)
}

// checkWire checks the wire rules of the graph block.
func (f *parsed) checkWire(t *protobuf.Tally, maxTensors int) error {
	g := &f.graph
	t.Reset(maxTensors)
	g.Dims = protobuf.DimsOf(f.hdr.blocks[graphBlock].size)
	g.Tally = t
	if err := g.locate("graph", g.Check(graphMsg, protobuf.Field{End: g.Size}, 1)); err != nil {
		return err
	}
	g.Checked, g.Tally = true, nil
	return nil
}

func (f *parsed) readTensors(l *loader) (err error) {
	if err = l.loadTensors(&f.tensors); err != nil {
		return err
	}
	x := &indexer{f: f, max: l.o.MaxTensors, scratch: l.scratch}
	if err := x.build(); err != nil {
		return err
	}
	return f.checkGraph()
}

// Load implements driver.Parsed for tensors that are not in the file as such:
// compressed, or in a block that is compressed or encrypted.
func (f *parsed) Load(i int) ([]byte, error) {
	r := &f.records[i]
	s := &f.stored[r.more]
	if s.start == s.end {
		return []byte{}, nil // an empty tensor may omit its data
	}
	p := f.payloadOf(i)
	data, err := f.slice(p, s.start, s.end)
	if err != nil {
		return nil, err
	}
	if s.codec == None {
		return aligned(data), nil
	}
	z, err := codecOf(s.codec)
	if err == nil {
		data, err = z.Decompress(data, f.index.Size(i))
	}
	return data, f.badData(i, err)
}

// Stream implements driver.Parsed.
func (f *parsed) Stream(i int, w io.Writer) error {
	s := &f.stored[f.records[i].more]
	if s.start == s.end {
		return nil
	}
	data, err := f.slice(f.payloadOf(i), s.start, s.end)
	if err != nil {
		return err
	}
	if s.codec == None {
		_, err = w.Write(data)
		return err
	}
	z, err := codecOf(s.codec)
	if err == nil {
		window := z.Window(data)
		if err = f.memory.Reserve(window); err == nil {
			defer f.memory.Release(window)
			err = z.Expand(w, data, f.index.Size(i))
		}
	}
	return f.badData(i, err)
}

// badData says which tensor cannot be decoded.
func (f *parsed) badData(i int, err error) error {
	if err == nil {
		return nil
	}
	err = protobuf.InField("compressed_data", &protobuf.Defect{At: f.stored[f.records[i].more].start, Err: err})
	return f.payloadOf(i).locate(fmt.Sprintf("tensor %q", f.index.Name(i)), err)
}

// payloadOf returns the block that tensor i is in.
func (f *parsed) payloadOf(i int) *payload {
	if f.records[i].graph {
		return &f.graph
	}
	return &f.tensors
}

// RecordAt implements driver.Parsed: where its block begins, for a message in one that
// is not stored as it is.
func (f *parsed) RecordAt(i int) int64 {
	p := f.payloadOf(i)
	if p.base < 0 {
		return p.at
	}
	return p.base + f.records[i].at
}

// notes lists what is tolerable but worth knowing.
func (f *parsed) notes() []string {
	var notes []string
	if f.hdr.magic == magicASCII {
		notes = append(notes, `magic number spelled "WIA1"`)
	}
	if f.signature == nil {
		notes = append(notes, "no checksums: the file has no signature block")
	}
	return notes
}

// Metadata implements driver.Parsed.
func (f *parsed) Metadata() (driver.Metadata, error) {
	if f.meta.Size == 0 {
		return nil, nil
	}
	return jsonmeta.Metadata(f.meta.Win)
}
