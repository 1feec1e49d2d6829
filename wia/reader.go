package wia

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"sync"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/catalog"
	"github.com/weightmap/weightmap/internal/jsonmeta"
	"github.com/weightmap/weightmap/internal/mapped"
	"github.com/weightmap/weightmap/internal/wire"
	"github.com/weightmap/weightmap/tensor"
)

// File is an open WIA-AI-014 file. Its methods are safe for concurrent use,
// Close included.
type File struct {
	*catalog.Catalog
	region    *mapped.Region
	hdr       *header
	meta      *payload
	graph     *payload
	tensors   *payload
	signature *signatures // nil without a signature block
	records   []record    // by tensor
	ext       externals
	locations map[string]bool // of external data; only while opening
	hidden    bool            // tensors within attributes or subgraphs have external data

	misaligned int // tensors that cannot be viewed where they lie

	graphOnce sync.Once
	message   *Graph
	graphErr  error
}

var (
	_ format.Model      = (*File)(nil)
	_ format.Grapher    = (*File)(nil)
	_ format.Noter      = (*File)(nil)
	_ format.Signer     = (*File)(nil)
	_ format.Encrypted  = (*File)(nil)
	_ format.Prefetcher = (*File)(nil)
)

// Open maps the file at path, which must be of this format, checks its structure
// and reads its index. Nil options work. Errors are *format.Error values with
// the path of the field, such as "graph.nodes[3].attributes[1].t.dims", and
// its offset in the file.
func Open(path string, o *format.Options) (*File, error) {
	return format.As[*File](wiaCodec.Open(path, o))
}

// OpenBytes reads a file from memory, which must not change while it is in use.
// External data are looked for in Options.Dir.
func OpenBytes(b []byte, o *format.Options) (*File, error) {
	return format.As[*File](wiaCodec.OpenBytes(b, o))
}

// OpenReaderAt reads a file of size bytes through r: the metadata, the graph
// and the descriptions of the tensors at once, data when they are asked for.
func OpenReaderAt(r io.ReaderAt, size int64, o *format.Options) (*File, error) {
	return format.As[*File](wiaCodec.OpenReaderAt(r, size, o))
}

// OpenFile maps size bytes at off of an open file, -1 for all up to its end.
func OpenFile(f *os.File, off, size int64, o *format.Options) (*File, error) {
	return format.As[*File](wiaCodec.OpenFile(f, off, size, o))
}

// parse reads the structure: everything but tensor data and external files.
func parse(r *mapped.Region, o *format.Options) (format.Model, error) {
	hdr, err := parseHeader(r)
	if err != nil {
		return nil, err
	}
	f := &File{region: r, hdr: hdr}
	if err := f.open(&loader{r: r, hdr: hdr, o: o}); err != nil {
		return nil, err
	}
	return f, nil
}

func (f *File) open(l *loader) (err error) {
	if f.meta, err = l.load(metadataBlock, l.o.MetadataLimit(f.hdr.blocks[metadataBlock].size)); err != nil {
		return err
	}
	if f.meta.size > 0 {
		if err := jsonmeta.Check(f.meta.win, jsonmeta.Options{}); err != nil {
			return f.metadataError(err)
		}
	} else if f.hdr.blocks[metadataBlock].size > 0 {
		return wire.Errorf(formatName, "metadata", f.meta.at, tensor.ErrCorrupt, "no JSON object in a block that is not empty")
	}
	if f.graph, err = l.load(graphBlock, l.o.GraphLimit(f.hdr.blocks[graphBlock].size)); err != nil {
		return err
	}
	f.graph.tally = newTally(l.o.MaxTensors)
	if err := f.graph.locate("graph", f.graph.check(graphMsg, 0, f.graph.size, 1)); err != nil {
		return err
	}
	f.graph.checked, f.graph.tally = true, nil
	if f.tensors, err = l.loadTensors(); err != nil {
		return err
	}
	x := &index{f: f, max: l.o.MaxTensors}
	if err := x.build(); err != nil {
		return err
	}
	if err := f.checkGraph(); err != nil {
		return err
	}
	if f.hdr.blocks[signatureBlock].size > 0 {
		if f.signature, err = l.loadSignatures(); err != nil {
			return err
		}
	}
	f.Fetch, f.Resolve = f.fetch, f.resolve
	f.ext.init(f, l.o)
	return nil
}

// metadataError gives a mistake in the JSON text its place in the file.
func (f *File) metadataError(err error) error {
	at := int64(0)
	if e, ok := err.(*jsonmeta.Error); ok {
		at = e.Offset
	}
	return f.meta.locate("metadata", &defect{at: at, err: err})
}

// uses notes the location of external data.
func (f *File) uses(location []byte) {
	if f.locations == nil {
		f.locations = make(map[string]bool)
	}
	if !f.locations[string(location)] {
		f.locations[string(location)] = true
	}
}

func (f *File) version() string { return strconv.Itoa(major) + "." + strconv.Itoa(int(f.hdr.minor)) }

// within runs fn between Enter and Leave, guarded: what lies in the mapping may
// be looked at.
func (f *File) within(fn func() error) error {
	if err := f.Enter(); err != nil {
		return err
	}
	defer f.Leave()
	return f.region.Guard(fn)
}

// reader returns a source of the caller's own over the payload, which may be
// in use elsewhere.
func (p *payload) reader() *source {
	s := p.source
	if p.windows != nil {
		w := windows{r: p.windows.r, base: p.windows.base, size: p.windows.size}
		s.win, s.fill = nil, w.fill
	}
	return &s
}

// tensorHead is the message of a tensor, read again.
type tensorHead struct {
	head
	payload *payload
	source  *source
}

// payloadOf returns the block that tensor i lies in.
func (f *File) payloadOf(i int) *payload {
	if f.records[i].graph {
		return f.graph
	}
	return f.tensors
}

// tensorHead reads the message of tensor i again.
func (f *File) tensorHead(i int) (*tensorHead, error) {
	r, p := &f.records[i], f.payloadOf(i)
	h := &tensorHead{payload: p, source: p.reader()}
	var err error
	if r.compressed {
		err = h.source.compressedTensor(&h.head, r.at, r.end, 1)
	} else {
		err = h.source.tensor(&h.head, r.at, r.end, 1)
	}
	if err == nil {
		err = h.settle(r.at)
	}
	return h, p.locate(p.block.String(), err)
}

// fetch returns the bytes of a tensor that does not lie in the file as such:
// compressed, or in a block that is.
func (f *File) fetch(i int) ([]byte, error) {
	h, err := f.tensorHead(i)
	if err != nil {
		return nil, err
	}
	where, c := h.raw, None
	if h.compressed {
		where, c = h.packed, h.codec(f.hdr.compression)
	}
	if where.start == where.end {
		return []byte{}, nil // an empty tensor may omit its data
	}
	data, err := h.source.bytes(where.start, where.end)
	if err != nil {
		return nil, err
	}
	if c == None {
		if h.payload.base < 0 && tensor.Address(data)%alignment == 0 {
			return data, nil // in memory that was decrypted or inflated, and stays
		}
		return append(tensor.AlignedBytes(len(data))[:0], data...), nil
	}
	z, err := codecOf(c)
	if err == nil {
		data, err = z.Decompress(data, h.size)
	}
	if err != nil {
		err = under("compressed_data", &defect{at: where.at, err: err})
		return nil, h.payload.locate(fmt.Sprintf("tensor %q", h.name), err)
	}
	return data, nil
}

// resolve makes the views of tensors that do not lie in the file as such.
func (f *File) resolve(i int) tensor.View {
	if f.records[i].external {
		return f.ext.view(i)
	}
	return tensor.NewView(f.Info(i), f.Catalog, nil)
}

// Metadata returns the pairs of the metadata block: "model_info" and its
// siblings as json.RawMessage, in file order. It is empty after Close; see
// ModelMetadata for the typed form.
func (f *File) Metadata() format.Metadata {
	var m format.Metadata
	_ = f.within(func() (err error) {
		if f.meta.size > 0 {
			m, err = jsonmeta.Metadata(f.meta.win)
		}
		return err
	})
	return m
}

// Compression returns how the header says the metadata and graph blocks are
// stored.
func (f *File) Compression() Compression { return f.hdr.compression }

// Encrypted reports whether metadata, graph and tensors are encrypted.
func (f *File) Encrypted() bool { return f.hdr.encrypted }

// Locked is always false: without its key an encrypted file does not open.
func (f *File) Locked() bool { return false }

// Notes names what was noticed and tolerated.
func (f *File) Notes() []string {
	var notes []string
	if f.hdr.magic == magicASCII {
		notes = append(notes, `magic number spelled "WIA1"`)
	}
	if f.signature == nil {
		notes = append(notes, "no checksums: the file has no signature block")
	}
	if f.misaligned > 0 {
		notes = append(notes, fmt.Sprintf("misaligned tensors, handed out by copy: %d", f.misaligned))
	}
	return notes
}
