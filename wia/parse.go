package wia

import (
	"errors"
	"fmt"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/jsonmeta"
	"github.com/weightmap/weightmap/internal/protobuf"
	"github.com/weightmap/weightmap/internal/seal"
	"github.com/weightmap/weightmap/internal/wire"
	"github.com/weightmap/weightmap/tensor"
)

// parsed is an open file, all in private memory but the tensor block.
type parsed struct {
	src       driver.Source
	index     *driver.Index
	memory    *driver.Memory
	hdr       header
	meta      payload
	graph     payload
	tensors   payload
	metadata  driver.Metadata
	decoded   *driver.Graph           // of graph
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

// parser reads the structure: everything but tensor data and external files.
type parser struct {
	*parsed
	o      *driver.Options
	cipher *seal.Cipher // nil unless the file is encrypted
}

// parse reads the blocks, each after those that it depends on.
func parse(src driver.Source, x *driver.Index, o *driver.Options) (*parsed, error) {
	p := &parser{o: o, parsed: &parsed{src: src, index: x, memory: o.Memory}}
	if err := p.hdr.parse(src); err != nil {
		return nil, err
	}
	x.Version = p.hdr.version()
	for _, step := range []func() error{p.unlock, p.readMetadata, p.loadGraph, p.readTensors, p.decodeGraph, p.readSignatures} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	return p.parsed, nil
}

// unlock makes the cipher of an encrypted file.
func (p *parser) unlock() (err error) {
	if !p.hdr.encrypted {
		return nil
	}
	if p.cipher, err = seal.New(p.o.Key); err != nil {
		return wire.Error(formatName, "encryption", encryptionField, fmt.Errorf("%w: the file is encrypted", err))
	}
	return nil
}

func (p *parser) readMetadata() (err error) {
	m, stored := &p.meta, p.hdr.blocks[metadataBlock].size
	if err = p.load(m, metadataBlock, p.o.MetadataLimit(stored)); err != nil || stored == 0 {
		return err
	}
	var c jsonmeta.Checker
	err = c.Check(m.Win, jsonmeta.Options{Entries: func(n int) error {
		// The text itself has a limit of its own.
		if err := p.memory.Build(int64(n)*jsonmeta.EntryBytes, stored); err != nil {
			return wire.Error(formatName, "metadata", m.at, err)
		}
		return nil
	}})
	if err == nil {
		p.metadata = c.Metadata()
	}
	if err == nil || errors.Is(err, tensor.ErrLimit) {
		return err
	}
	at := int64(0)
	if e, ok := err.(*jsonmeta.Error); ok {
		at = e.Offset
	}
	return m.locate("metadata", &protobuf.Defect{At: at, Err: err})
}

func (p *parser) loadGraph() error {
	return p.load(&p.graph, graphBlock, p.o.GraphLimit(p.hdr.blocks[graphBlock].size))
}

func (p *parser) readTensors() error {
	if err := p.loadTensors(); err != nil {
		return err
	}
	return p.listTensors()
}

// readSignatures reads the signature block, if there is one.
func (p *parser) readSignatures() error {
	if p.hdr.blocks[signatureBlock].size == 0 {
		return nil
	}
	var b payload
	if err := p.load(&b, signatureBlock, 0); err != nil {
		return err
	}
	p.signature = &signatures{}
	err := p.signature.read(&b.Source)
	p.sums = p.signature.sums
	return b.locate("signature", err)
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
