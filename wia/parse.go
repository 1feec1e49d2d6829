package wia

import (
	"strconv"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/external"
	"github.com/weightmap/weightmap/internal/jsonmeta"
	"github.com/weightmap/weightmap/internal/messages"
	"github.com/weightmap/weightmap/internal/seal"
)

// parsed is an open file. All but the tensor block is in private memory.
type parsed struct {
	src             driver.Source
	index           *driver.Index
	memory          *driver.Memory
	hdr             header
	payloads        [numBlocks]payload
	metadata        schema.Metadata
	decoded         *schema.Graph   // of graph
	signature       *signatures     // nil without a signature block
	records         []record        // by tensor
	externals       []externalRange // of tensors of the file, and of those inside the graph
	afterExternals  int             // the number of the declared checksum behind theirs
	files           external.Files
	initializerData bool // initializers of the graph have data
	hasDocs         bool
	more            messages.Copy // of the tensor block: what Native has
}

// parser reads everything but tensor data and external files.
type parser struct {
	f        *parsed
	cipher   *seal.Cipher     // nil unless the file is encrypted
	head     *head            // of the current tensor
	declared []bool           // by tensor: the main graph declares it
	message  messages.Message // the graph, checked
}

// Parse implements driver.Driver. It reads the blocks, each after those it depends on.
func (fileFormat) Parse(
	src driver.Source, x *driver.Index, o *driver.ParseOptions,
) (*driver.Parsed, error) {
	f := &parsed{src: src, index: x, memory: o.Memory}
	p := &parser{f: f, head: &head{}}
	err := p.f.hdr.parse(src)
	if err != nil {
		return nil, err
	}
	x.Version = "1." + strconv.Itoa(int(p.f.hdr.minor))
	if p.f.hdr.encryption > 0 {
		p.cipher, err = seal.New(o.Key)
		if err != nil {
			return nil, p.f.hdr.bad(encryptionField, err, "the file is encrypted")
		}
	}
	err = p.readMetadata()
	if err != nil {
		return nil, err
	}
	err = p.listTensors()
	if err != nil {
		return nil, err
	}
	err = p.decodeGraph()
	if err != nil {
		return nil, err
	}
	err = p.readSignatures()
	if err != nil {
		return nil, err
	}
	f.numberExternals()
	return &driver.Parsed{
		Own:          f,
		Notes:        f.notes(),
		Signature:    f.signature.claimed(),
		Metadata:     f.metadata,
		Graph:        f.decoded,
		Docs:         f.docs,
		Native:       f.native,
		RecordAt:     f.recordAt,
		Load:         f.load,
		Stream:       f.stream,
		Sums:         f.sums,
		SumsOf:       f.sumsOf,
		Authenticate: f.authenticate,
		CheckClaim:   f.checkClaim,
	}, nil
}

func (p *parser) readMetadata() (err error) {
	stored := p.f.hdr.blocks[metadataBlock].size
	m, err := p.loadBlock(metadataBlock)
	if err != nil || stored == 0 {
		return err
	}
	p.f.metadata, err = jsonmeta.Parse(m.data, jsonmeta.Options{Memory: p.f.memory, Stored: stored})
	if err != nil {
		return m.locate(placedJSON(err))
	}
	return nil
}

// placedJSON adds the field, and the offset in the metadata, to an error about their JSON.
func placedJSON(err error) error {
	placed := &messages.Placed{Field: "metadata", Err: err}
	e, ok := err.(*jsonmeta.Error)
	if ok {
		placed.At = e.Offset
	}
	return placed
}

// readSignatures reads the signature block, if any.
func (p *parser) readSignatures() error {
	if p.f.hdr.blocks[signatureBlock].size == 0 {
		return nil
	}
	b, err := p.loadBlock(signatureBlock)
	if err != nil {
		return err
	}
	p.f.signature = &signatures{}
	m, err := table.Check(typeSignatureBlock, b.text(), messages.NewCounts())
	if err != nil {
		return b.place(signatureBlock, typeSignatureBlock, err)
	}
	return b.place(signatureBlock, typeSignatureBlock, p.f.signature.read(m, b.data))
}

// recordAt returns the file offset of the message of tensor i, or of its block if
// the block is compressed or encrypted.
func (f *parsed) recordAt(i int) int64 { return f.payloadOf(i).offset(f.records[i].at) }

// notes lists irregularities that readers tolerate.
func (f *parsed) notes() (notes []string) {
	if f.hdr.magic == magicASCII {
		notes = append(notes, `magic number spelled "WIA1"`)
	}
	if f.signature == nil {
		notes = append(notes, "no checksums: the file has no signature block")
	}
	return notes
}
