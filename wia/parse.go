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
	decoded         *schema.Graph // of graph
	signature       *signatures   // nil without a signature block
	records         []record      // by tensor
	externals       []elsewhere   // of tensors of the file, and of those inside the graph
	afterExternals  int           // the number of the declared checksum behind theirs
	files           external.Files
	initializerData bool          // initializers of the graph have data
	more            messages.Copy // of the tensor block: what Native has
}

// parser reads everything but tensor data and external files.
type parser struct {
	*parsed
	cipher   *seal.Cipher     // nil unless the file is encrypted
	head     *head            // of the current tensor
	declared []bool           // by tensor: the main graph declares it
	message  messages.Message // the graph, checked
}

// Parse implements driver.Driver. It reads the blocks, each after those it depends on.
func (fileFormat) Parse(src driver.Source, x *driver.Index, o *driver.ParseOptions) (*driver.Parsed, error) {
	p := &parser{parsed: &parsed{src: src, index: x, memory: o.Memory}, head: &head{}}
	err := p.hdr.parse(src)
	if err != nil {
		return nil, err
	}
	x.Version = "1." + strconv.Itoa(int(p.hdr.minor))
	if p.hdr.encryption > 0 {
		p.cipher, err = seal.New(o.Key)
		if err != nil {
			return nil, p.hdr.bad(encryptionField, err, "the file is encrypted")
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
	f := p.parsed
	f.numberExternals()
	return &driver.Parsed{
		Own:          f,
		Notes:        f.notes(),
		Signature:    f.signature.claimed(),
		Metadata:     f.metadata,
		Graph:        f.decoded,
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
	stored := p.hdr.blocks[metadataBlock].size
	m, err := p.load(metadataBlock)
	if err != nil || stored == 0 {
		return err
	}
	p.metadata, err = jsonmeta.Parse(m.data, jsonmeta.Options{Memory: p.memory, Stored: stored})
	if err == nil {
		return nil
	}
	placed := &messages.Placed{Field: "metadata", Err: err}
	if e, ok := err.(*jsonmeta.Error); ok {
		placed.At = e.Offset
	}
	return m.locate(placed)
}

// readSignatures reads the signature block, if any.
func (p *parser) readSignatures() error {
	if p.hdr.blocks[signatureBlock].size == 0 {
		return nil
	}
	b, err := p.load(signatureBlock)
	if err != nil {
		return err
	}
	p.signature = &signatures{}
	m, err := table.Check(typeSignatureBlock, b.text(), messages.NewCounts())
	if err != nil {
		return b.place(signatureBlock, typeSignatureBlock, err)
	}
	return b.place(signatureBlock, typeSignatureBlock, p.signature.read(m, b.data))
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
