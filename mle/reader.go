package mle

import (
	"io"
	"os"
	"strconv"
	"sync/atomic"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/catalog"
	"github.com/weightmap/weightmap/internal/jsonmeta"
	"github.com/weightmap/weightmap/internal/mapped"
	"github.com/weightmap/weightmap/tensor"
)

// File is an open .mle file. Its methods are safe for concurrent use. Tensor,
// Tensors, Len, Pin and Prefetch are those of format.Model; At(i) is tensor i in
// file order. Tensors are the descriptors that have data; Descriptors lists
// the others too.
type File struct {
	*catalog.Catalog
	h     Header
	head  []byte // the first 144 bytes: the header, and with a short one what follows
	meta  []byte // JSON text, nil when there is none
	graph graphSection
	names [][]byte     // by descriptor; nil when the file gives none
	comp  *compression // nil without compression
	sig   []byte       // signature section, nil without
	lazy  []int64      // by tensor: offset in the uncompressed weights; nil when they lie in the file as such
	store store

	flushed atomic.Bool // Verify met the reference's sum over float16 weights, see flushedSum
}

var (
	_ format.Model      = (*File)(nil)
	_ format.Grapher    = (*File)(nil)
	_ format.Noter      = (*File)(nil)
	_ format.Signer     = (*File)(nil)
	_ format.Encrypted  = (*File)(nil)
	_ format.Prefetcher = (*File)(nil)
)

// Open maps the file at path and reads its structure. Nil options work.
func Open(path string, o *format.Options) (*File, error) {
	return format.As[*File](codec.Open(path, o))
}

// OpenBytes reads a file from memory, which must not change while it is open.
func OpenBytes(b []byte, o *format.Options) (*File, error) {
	return format.As[*File](codec.OpenBytes(b, o))
}

// OpenReaderAt reads a file of size bytes through r. Everything but the weights
// is fetched now, tensors when they are asked for.
func OpenReaderAt(r io.ReaderAt, size int64, o *format.Options) (*File, error) {
	return format.As[*File](codec.OpenReaderAt(r, size, o))
}

// OpenFile maps size bytes at off of an open file; size -1 means to the end.
func OpenFile(f *os.File, off, size int64, o *format.Options) (*File, error) {
	return format.As[*File](codec.OpenFile(f, off, size, o))
}

// parse reads and checks everything but the weights.
func parse(r *mapped.Region, o *format.Options) (*File, error) {
	sums := o.Check != format.CheckStructure
	h, head, err := parseHeader(r, sums)
	if err != nil {
		return nil, err
	}
	f := &File{h: h, head: head}
	if err := f.readSections(r, o); err != nil {
		return nil, err
	}
	if sums {
		if err := f.checkMetadataSum(); err != nil {
			return nil, err
		}
		if err := f.checkGraphSum(); err != nil {
			return nil, err
		}
	}
	if f.meta != nil {
		err := jsonmeta.Check(f.meta, jsonmeta.Options{LoneSurrogates: true})
		if err != nil {
			return nil, jsonError(err, "metadata", h.Metadata.Offset)
		}
	}
	if err := f.graph.checkNodes(); err != nil {
		return nil, err
	}
	if err := f.readTensors(r, o); err != nil {
		return nil, err
	}
	return f, f.store.setKey(&h, o.Key)
}

// readSections fetches what is not weights, and the counts of the graph.
func (f *File) readSections(r *mapped.Region, o *format.Options) (err error) {
	h := &f.h
	if !r.InMemory() {
		size := h.Metadata.Size
		for _, s := range []Section{h.Graph, h.Compression, h.Signature} {
			size += s.Size
		}
		if size > o.MaxHeaderBytes {
			return fail("header", atSections, format.ErrLimit, "metadata and graph take %d bytes, the limit is %d", size, o.MaxHeaderBytes)
		}
	}
	if h.Metadata.Size > 0 {
		if f.meta, err = r.Slice(h.Metadata.Offset, h.Metadata.Size); err != nil {
			return err
		}
	}
	if h.Signature.Size > 0 {
		if f.sig, err = r.Slice(h.Signature.Offset, h.Signature.Size); err != nil {
			return err
		}
		if err := checkSignatureSection(f.sig, h.Signature.Offset); err != nil {
			return err
		}
	}
	graph, err := r.Slice(h.Graph.Offset, h.Graph.Size)
	if err != nil {
		return err
	}
	f.graph, err = parseGraph(graph, h.Graph.Offset)
	return err
}

func (f *File) checkMetadataSum() error {
	return checkSum("metadata_checksum", atChecksums, f.h.MetadataChecksum, f.meta)
}

func (f *File) checkGraphSum() error {
	return checkSum("graph_checksum", atChecksums+4, f.h.GraphChecksum, f.graph.b)
}

// checkSum compares the CRC-32 of a section with the recorded one, if any.
func checkSum(field string, at int64, want uint32, b []byte) error {
	if want == 0 {
		return nil
	}
	if got := tensor.CRC32(b); got != want {
		return sumError(field, at, want, got)
	}
	return nil
}

func sumError(field string, at int64, want, got uint32) error {
	return fail(field, at, format.ErrChecksum, "%#08x recorded, %#08x computed", want, got)
}

// totals are what a first pass over the descriptors counts.
type totals struct {
	constants int
	dims      int
	nameBytes int
	end       int64 // of the last tensor in the uncompressed weights
}

// readTensors checks the descriptors and the compression section that
// depends on them, and fills the catalog.
func (f *File) readTensors(r *mapped.Region, o *format.Options) error {
	if err := f.readNames(); err != nil {
		return err
	}
	sum, err := f.count()
	if err != nil {
		return err
	}
	if sum.constants > o.MaxTensors {
		return fail("num_tensors", f.graph.base+4, format.ErrLimit, "%d tensors, the limit is %d", sum.constants, o.MaxTensors)
	}
	if f.h.Features.Has(Compression) {
		if err := f.readCompression(r, sum.end); err != nil {
			return err
		}
	} else if sum.end > f.h.plainSize() {
		return fail("weights_size", f.h.sections()[2].field+8, format.ErrTruncated, "%d bytes, the last tensor ends at %d", f.h.plainSize(), sum.end)
	}
	f.Catalog = catalog.New(r, formatName, strconv.Itoa(int(f.h.Version)), sum.constants, sum.nameBytes, sum.dims)
	f.Fetch = f.load
	if f.comp != nil && f.comp.method != MethodNone || f.h.Features.Has(Encryption) {
		f.lazy = make([]int64, 0, sum.constants)
	}
	return f.fill()
}

// count checks all descriptors.
func (f *File) count() (sum totals, err error) {
	scratch := make(tensor.Shape, maxRank)
	for i := range f.graph.tensors {
		d := f.graph.descriptor(i)
		if err := f.graph.checkDescriptor(i, &d, scratch); err != nil {
			return sum, err
		}
		if !d.constant() {
			continue
		}
		end := d.offset + d.size
		if d.size > 1<<62 || end < d.offset || end > 1<<62 {
			return sum, fail(tensorField(i)+" offset", f.graph.base+int64(f.graph.descriptorAt(i)), format.ErrTruncated,
				"%d bytes from %d lie beyond any file", d.size, d.offset)
		}
		sum.end = max(sum.end, int64(end))
		sum.constants++
		sum.dims += int(d.rank)
		if f.names != nil {
			sum.nameBytes += len(f.names[i])
		} else {
			sum.nameBytes += len("tensor_") + decimalDigits(i)
		}
	}
	return sum, nil
}

func decimalDigits(n int) int {
	digits := 1
	for ; n >= 10; n /= 10 {
		digits++
	}
	return digits
}

func (f *File) readCompression(r *mapped.Region, end int64) error {
	s := f.h.Compression
	b, err := r.Slice(s.Offset, s.Size)
	if err != nil {
		return err
	}
	f.comp, err = parseCompression(b, s.Offset, f.h.Features.Has(ChunkedWeights), f.h.plainSize(), end)
	if err != nil {
		return err
	}
	if f.comp.method.lossy() {
		for i := range f.graph.tensors {
			if d := f.graph.descriptor(i); d.constant() && dtypeOf(d.dtype) != tensor.Float32 {
				return fail(tensorField(i)+" dtype", f.graph.base+int64(f.graph.descriptorAt(i)+52), format.ErrCorrupt,
					"%v in weights that are compressed as %v, which is for float32 alone", dtypeOf(d.dtype), f.comp.method)
			}
		}
	}
	if f.comp.chunked {
		return f.checkChunks()
	}
	return nil
}

// checkChunks refuses chunks across tensors: no tensor may end in a chunk at
// or before the place where another begins in it.
func (f *File) checkChunks() error {
	n := f.comp.chunks()
	firstEnd := make([]int64, n)  // in (offset, offset+size] of each chunk; 0 is none
	lastStart := make([]int64, n) // in [offset, offset+size)
	for i := range f.graph.tensors {
		d := f.graph.descriptor(i)
		if !d.constant() {
			continue
		}
		first, last := f.comp.covering(int64(d.offset), int64(d.size))
		lastStart[first] = max(lastStart[first], int64(d.offset))
		if end := int64(d.offset + d.size); firstEnd[last-1] == 0 || end < firstEnd[last-1] {
			firstEnd[last-1] = end
		}
	}
	for i := range n {
		if firstEnd[i] > 0 && firstEnd[i] <= lastStart[i] {
			return fail("chunk", f.comp.base+int64(i)*chunkRow, format.ErrCorrupt,
				"chunk %d holds the end of a tensor at %d and the start of another at %d", i, firstEnd[i], lastStart[i])
		}
	}
	return nil
}

// fill adds all constants to the catalog.
func (f *File) fill() error {
	var scratch [32]byte
	method := ""
	if f.comp != nil {
		method = f.comp.method.Name()
	}
	for i := range f.graph.tensors {
		d := f.graph.descriptor(i)
		if !d.constant() {
			continue
		}
		t := catalog.Tensor{
			Name: f.appendName(scratch[:0], i), DType: dtypeOf(d.dtype), Shape: f.Dims(int(d.rank)),
			Offset: f.h.Weights.Offset + int64(d.offset), Size: int64(d.size), Compression: method,
		}
		for k := range t.Shape {
			t.Shape[k] = int64(d.shape[k])
		}
		if f.lazy != nil {
			f.lazy = append(f.lazy, int64(d.offset))
			t.Lazy, t.Offset = true, -1
			t.Stored = f.storedSize(&d)
		}
		if !f.Add(&t) {
			return f.nameTwice(t.Name)
		}
	}
	return f.checkPlaceholderNames()
}

// storedSize returns what tensor.Info.Stored says of a tensor that does not
// lie in the file as such.
func (f *File) storedSize(d *descriptor) int64 {
	switch {
	case f.comp == nil || f.comp.method == MethodNone:
		return int64(d.size)
	case f.comp.chunked:
		return f.comp.storedSize(int64(d.offset), int64(d.size))
	}
	return -1
}

// Header returns the header.
func (f *File) Header() Header { return f.h }

// Close is format.Model's; it also drops the weights that were decompressed.
func (f *File) Close() error {
	err := f.Catalog.Close()
	f.store.drop()
	return err
}
