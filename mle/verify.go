package mle

import (
	"encoding/binary"
	"io"
	"slices"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/checksum"
	codecs "github.com/weightmap/weightmap/internal/codec"
	"github.com/weightmap/weightmap/tensor"
)

// The declared checksums that every file has. Others follow them.
const (
	headerSum = iota
	metadataSum
	graphSum
	structureSums
)

// structureParts names the parts of the structure and the fields with their checksums.
var structureParts = [structureSums]struct{ name, field string }{
	headerSum:   {"header", "header_checksum"},
	metadataSum: {"metadata", "metadata_checksum"},
	graphSum:    {"graph", "graph_checksum"},
}

// declaredSums are the checksums of the structure, with the memory that they need, and where the
// others are in the list.
type declaredSums struct {
	list    [structureSums]driver.Sum
	longer  driver.Sum // another form of that of the header
	digests [structureSums][1]driver.Digest
	ranges  [structureSums + 1][1]driver.Range
	zeroed  [1]driver.Range

	data, dataEnd int // those of the weights, or the first of the chunks
}

// declareSum sets the checksum of a part of the structure. A checksum of 0 was not recorded.
func (f *parsed) declareSum(part int, sum uint32, r Section) *driver.Sum {
	d := &f.declared
	s := &d.list[part]
	s.Name = structureParts[part].name
	d.ranges[part][0] = driver.Range{Offset: r.Offset, Size: r.Size}
	s.Ranges = d.ranges[part][:]
	if sum != 0 {
		field := structureParts[part].field
		d.digests[part][0] = driver.Digest{
			Kind:   driver.CRC32,
			Want:   uint64(sum),
			Field:  field,
			Offset: f.fields.At(field),
		}
		s.Accept = d.digests[part][:]
	}
	return s
}

// checkHeader compares the header checksum with that of header_size bytes and with that of
// the reference implementation, which is always of 144 bytes.
func (p *parser) checkHeader() error {
	f := p.f
	h := &f.h
	size := int64(h.HeaderSize)
	s := f.declareSum(headerSum, h.HeaderChecksum, Section{Size: size})
	if h.HeaderChecksum == 0 {
		return nil
	}
	if int64(len(f.head)) < size {
		return errorf("header", 0, tensor.ErrTruncated, "%d bytes, header_size is %d", len(f.head), size)
	}
	f.declared.zeroed[0] = driver.Range{Offset: f.fields.At("header_checksum"), Size: 4}
	s.Zeroed = f.declared.zeroed[:]
	if len(f.head) == headerStruct && size < headerStruct {
		f.declared.ranges[structureSums][0] = driver.Range{Size: headerStruct}
		f.declared.longer = *s
		f.declared.longer.Ranges = f.declared.ranges[structureSums][:]
		s.Or = &f.declared.longer
	}
	_, err := f.src.Compare(s, f.head, 0)
	return err
}

// checkSections compares the checksums of metadata and graph.
func (p *parser) checkSections() error {
	f := p.f
	h := &f.h
	s := f.declareSum(metadataSum, h.MetadataChecksum, h.Metadata)
	s.Hidden = f.meta == nil
	_, err := f.src.Compare(s, f.meta, h.Metadata.Offset)
	if err != nil {
		return err
	}
	s = f.declareSum(graphSum, h.GraphChecksum, h.Graph)
	_, err = f.src.Compare(s, p.graph, h.Graph.Offset)
	return err
}

// weightsSum returns the checksum of the stored weights.
func (f *parsed) weightsSum() driver.Sum {
	h := &f.h
	s := driver.Sum{Name: "weights", Hidden: true}
	s.Ranges = []driver.Range{{Offset: h.Weights.Offset, Size: h.Weights.Size}}
	if h.WeightsChecksum != 0 {
		s.Accept = []driver.Digest{{
			Kind:   driver.CRC32,
			Want:   uint64(h.WeightsChecksum),
			Field:  "weights_checksum",
			Offset: f.fields.At("weights_checksum"),
		}}
	}
	return s
}

// sums implements driver.Parsed. Those of the weights follow each other.
func (f *parsed) sums() []driver.Sum {
	list := append([]driver.Sum(nil), f.declared.list[:]...)
	if f.table != nil { // the other fields are determined by what is checked
		r := &f.comp.fields
		list = append(list, driver.Sum{
			Name: "level and quantization_bits of the compression section",
			Ranges: []driver.Range{
				{Offset: r.At("compression level"), Size: 1},
				{Offset: r.At("compression quantization_bits"), Size: 1},
			},
		})
	}
	f.declared.data = len(list)
	stored := f.weightsSum()
	stored.All = f.comp.chunked // chunks cover single tensors
	list = append(list, stored)
	if f.encrypted() {
		list = append(list, driver.Sum{
			Name:   "weights",
			By:     "AES-256-GCM",
			Ranges: stored.Ranges,
			Check:  f.checkDecryption,
			All:    f.comp.chunked,
			Hidden: true,
		})
	}
	if f.comp.chunked {
		f.declared.data = len(list)
		for i := range f.comp.chunks {
			list = append(list, f.chunkSum(i))
		}
	}
	f.declared.dataEnd = len(list)
	if f.table != nil {
		content := f.contentSum(stored.Ranges)
		content.All = f.comp.chunked
		list = append(list, content)
		if !f.comp.chunked {
			f.declared.dataEnd++
		}
	}
	return append(list, f.fileSum())
}

// checkDecryption decrypts the weights, which AES-256-GCM authenticates.
func (f *parsed) checkDecryption(driver.Verification) error {
	if f.needsKey() {
		return errorf("weights", f.h.Weights.Offset, format.ErrKey,
			"the weights are encrypted, and cannot be checked without the key")
	}
	_, err := f.stored(0, f.h.plainSize())
	return err
}

// fileSum is the signature of the file, or that there is none.
func (f *parsed) fileSum() driver.Sum {
	s := driver.Sum{Name: "signature", Hidden: true, Check: f.authenticate}
	if f.sig == nil {
		return s
	}
	at := f.h.Signature.Offset
	end := f.h.Signature.End()
	s.Ranges = []driver.Range{{Size: at}, {Offset: end, Size: f.src.Size() - end}}
	s.Size = f.src.Size() - f.h.Signature.Size
	s.By = "sha256 of the file"
	return s
}

// sumsOf implements driver.Parsed.
func (f *parsed) sumsOf(i int) (from, to int) {
	if !f.comp.chunked {
		return f.declared.data, f.declared.dataEnd
	}
	first, end, _ := f.comp.covering(f.at[i], f.index.Size(i))
	return f.declared.data + first, f.declared.data + end
}

// chunkSum returns the checksum of the stored bytes of a chunk: those of the file, or what they are
// once decrypted.
func (f *parsed) chunkSum(i int) driver.Sum {
	c := &f.comp.chunks[i]
	r := f.chunkFields(i)
	s := driver.Sum{
		Name: "weights",
		By:   "crc32 of the chunk",
		Accept: []driver.Digest{{
			Kind:   driver.CRC32,
			Want:   uint64(c.Checksum),
			Field:  "chunk checksum",
			Offset: r.At("checksum"),
		}},
		Ranges: []driver.Range{{Offset: f.h.Weights.Offset + c.Stored, Size: c.StoredSize}},
		Hidden: true,
	}
	if !f.encrypted() {
		return s
	}
	s.Ranges = []driver.Range{{Offset: f.h.Weights.Offset, Size: f.h.Weights.Size}}
	s.Size = c.StoredSize
	s.Content = func(v driver.Verification) (uint64, error) {
		err := f.checkDecryption(v)
		if err != nil {
			return 0, err
		}
		b, err := f.stored(c.Stored, c.StoredSize)
		v.Done(int64(len(b)), "weights")
		return uint64(tensor.CRC32(b)), err
	}
	return s
}

// contentSum returns the checksum of the uncompressed weights. For float16 it may be that of the
// reference implementation, which Notes then reports.
func (f *parsed) contentSum(weights []driver.Range) driver.Sum {
	s := driver.Sum{
		Name: "uncompressed weights",
		Accept: []driver.Digest{{
			Kind:   driver.CRC32,
			Want:   uint64(f.comp.Checksum),
			Field:  "compression checksum",
			Offset: f.comp.fields.At("compression checksum"),
		}},
		Ranges:  weights,
		Content: f.content32,
		Size:    f.comp.Uncompressed,
		Hidden:  true,
	}
	if f.comp.Method == MethodFloat16 {
		flushed := s
		flushed.Content = f.flushedSum
		s.Or = &flushed
	}
	return s
}

// content32 returns the CRC-32 of the uncompressed weights, chunk by chunk.
func (f *parsed) content32(v driver.Verification) (uint64, error) {
	if f.encrypted() {
		err := f.checkDecryption(v)
		if err != nil {
			return 0, err
		}
	}
	chunks := f.comp.chunks
	sums := make([]uint32, len(chunks))
	err := v.Each(len(chunks), func(i int) error {
		in, err := f.storedChunk(i)
		if err != nil {
			return err
		}
		s := checksum.Count(v, driver.CRC32, "weights")
		err = f.expand(s, in, f.comp.size(i))
		sums[i] = uint32(s.Sum64())
		return f.weightsError(err, chunks[i].Stored)
	})
	if err != nil {
		return 0, err
	}
	sum := uint32(0)
	for i, s := range sums {
		sum = tensor.CombineCRC32(sum, s, f.comp.size(i))
	}
	return uint64(sum), nil
}

// storedChunk returns the stored bytes of a chunk, decrypted.
func (f *parsed) storedChunk(i int) ([]byte, error) {
	c := &f.comp.chunks[i]
	return f.stored(c.Stored, c.StoredSize)
}

// flushedSum returns the CRC-32 of float16 weights as the reference implementation decodes
// them: subnormal halves and -0 become 0. The halves are contiguous, even in chunks.
func (f *parsed) flushedSum(v driver.Verification) (uint64, error) {
	const step = 64 << 10
	in, err := f.stored(0, f.h.plainSize())
	if err != nil {
		return 0, err
	}
	s := crc(0)
	var halves []byte
	for piece := range slices.Chunk(in, step) {
		halves = append(halves[:0], piece...)
		flushSubnormals(halves)
		err := v.Context().Err()
		if err != nil {
			return 0, err
		}
		c := approximation(MethodFloat16)
		err = codecs.DataTo(&s, c, halves, 2*int64(len(halves)), f.memory)
		if err != nil {
			return 0, err
		}
	}
	if uint32(s) != f.comp.Checksum {
		return uint64(s), nil
	}
	// Weights that are not what was written may have this checksum by chance: other sums are
	// compared at the same time.
	right, err := f.storedIsRight(v)
	if err != nil {
		return 0, err
	}
	if right {
		f.flushed.Store(true)
	}
	return uint64(s), nil
}

// flushSubnormals sets subnormal halves and -0 to 0.
func flushSubnormals(halves []byte) {
	const exponent = 0x7C00
	for i := 0; i < len(halves); i += 2 {
		if binary.LittleEndian.Uint16(halves[i:])&exponent == 0 {
			halves[i] = 0
			halves[i+1] = 0
		}
	}
}

// storedIsRight reports whether the stored weights have the checksum of the header, if that has
// one.
func (f *parsed) storedIsRight(v driver.Verification) (bool, error) {
	if f.h.WeightsChecksum == 0 {
		return true, nil
	}
	w := &f.h.Weights
	sum, err := v.Hash(driver.CRC32, 0, w.Offset, w.Size, "")
	return uint32(sum) == f.h.WeightsChecksum, err
}

// SectionAt implements driver.Section.
func (f *parsed) SectionAt(i int) int64 { return f.at[i] }

// StreamSection implements driver.Section.
func (f *parsed) StreamSection(w io.Writer) error {
	if f.comp.Method == MethodNone {
		b, err := f.content()
		if err != nil {
			return err
		}
		_, err = w.Write(b)
		return err
	}
	in, err := f.storedChunk(0)
	if err != nil {
		return err
	}
	return f.weightsError(f.expand(w, in, f.comp.size(0)), f.comp.chunks[0].Stored)
}

// stream implements driver.Parsed.
func (f *parsed) stream(i int, w io.Writer) error {
	off := f.at[i]
	n := f.index.Size(i)
	if f.shares(i) {
		b, err := f.content()
		if err != nil {
			return err
		}
		_, err = w.Write(b[off:][:n])
		return err
	}
	first, end, _ := f.comp.covering(off, n)
	part := &codecs.RangeWriter{W: w, Skip: off - f.comp.chunks[first].Offset, Left: n}
	for k := first; k < end; k++ {
		in, err := f.storedChunk(k)
		if err != nil {
			return err
		}
		err = f.expand(part, in, f.comp.size(k))
		if err != nil {
			return f.weightsError(err, f.comp.chunks[k].Stored)
		}
	}
	return nil
}
