package mle

import (
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/jsonmeta"
	"github.com/weightmap/weightmap/internal/wire"
	"github.com/weightmap/weightmap/tensor"
)

// parsed is what is kept of an open file besides its index. Everything but the
// weights is in private memory: other processes may write to a mapped file, and
// what was checked must not change.
type parsed struct {
	src    driver.Source
	index  *driver.Index
	memory *driver.Memory
	h      Header
	first  [headerStruct]byte
	head   []byte // of first: the header, and with a short one what follows
	meta   []byte // JSON text, nil when there is none
	graph  graphSection
	table  []byte // compression section, nil without
	sig    []byte // signature section, nil without
	names  names
	comp   *compression // nil without compression
	lazy   []int64      // by tensor: offset in the uncompressed weights; nil when they are in the file as such
	store  store

	flushed atomic.Bool // Verify met the reference's sum over float16 weights, see flushedSum
}

// parse reads and checks everything but the weights.
func parse(src driver.Source, x *driver.Index, o *driver.Options) (*parsed, error) {
	f := &parsed{src: src, index: x, memory: o.Memory}
	if err := f.readHeader(o.Check.Sums()); err != nil {
		return nil, err
	}
	x.Version = strconv.Itoa(int(f.h.Version))
	if err := f.readSections(o); err != nil {
		return nil, err
	}
	if err := f.checkTexts(); err != nil {
		return nil, err
	}
	if err := f.readTensors(o.MaxTensors); err != nil {
		return nil, err
	}
	return f, f.store.setKey(&f.h, o.Key)
}

// texts check what is JSON in a file.
type texts struct {
	jsonmeta.Checker
	names jsonmeta.Strings
}

var checkers = sync.Pool{New: func() any { return new(texts) }}

// checkTexts checks metadata and nodes, and reads the names of the descriptors.
func (f *parsed) checkTexts() error {
	t := checkers.Get().(*texts)
	defer checkers.Put(t)
	t.names = jsonmeta.Strings{}
	err := f.checkMetadata(t)
	if err == nil {
		err = f.graph.checkNodes(&t.Checker)
	}
	if err == nil {
		err = f.readNames(&t.names)
	}
	t.names.Spans = nil // they are the file's
	return err
}

// part is a section that is kept in memory.
type part struct {
	name  string
	at    Section
	bytes *[]byte
	sum   uint32 // recorded, 0 for none
	field int64  // of the recorded sum
}

// parts lists all sections but the weights.
func (f *parsed) parts() [4]part {
	h := &f.h
	return [4]part{
		{"metadata", h.Metadata, &f.meta, h.MetadataChecksum, atChecksums},
		{"graph", h.Graph, &f.graph.b, h.GraphChecksum, atChecksums + 4},
		{"compression", h.Compression, &f.table, 0, 0},
		{"signature", h.Signature, &f.sig, 0, 0},
	}
}

// readSections copies all sections but the weights into memory, and checks their
// sums and the counts of the graph.
func (f *parsed) readSections(o *driver.Options) (err error) {
	parts, size := f.parts(), int64(0)
	for i := range parts {
		size += parts[i].at.Size // sections are in the file, apart
	}
	if size > o.MaxHeaderBytes {
		return fail("header", atSections, format.ErrLimit, "metadata and graph take %d bytes, the limit is %d", size, o.MaxHeaderBytes)
	}
	if err := o.Memory.Reserve(size); err != nil {
		return wire.Error(formatName, "header", atSections, err)
	}
	if err := f.readParts(parts[:]); err != nil {
		return err
	}
	for i := range parts {
		if p := &parts[i]; p.sum != 0 && o.Check.Sums() {
			if err := p.check(tensor.CRC32(*p.bytes)); err != nil {
				return err
			}
		}
	}
	if f.sig != nil {
		if err := checkSignatureSection(f.sig, f.h.Signature.Offset); err != nil {
			return err
		}
	}
	f.graph, err = parseGraph(f.graph.b, f.h.Graph.Offset)
	return err
}

// gap is what aligning may leave between sections that are read together.
const gap = 64

// readParts copies the sections into memory, those that are next to each other at once.
func (f *parsed) readParts(parts []part) error {
	var order [4]*part // by offset
	n := 0
	for i := range parts {
		p := &parts[i]
		if p.at.Size == 0 {
			continue
		}
		at := n
		for ; at > 0 && order[at-1].at.Offset > p.at.Offset; at-- {
			order[at] = order[at-1]
		}
		order[at] = p
		n++
	}
	if f.readRuns(order[:n]) == nil {
		return nil
	}
	// The error has to name the section that cannot be read.
	for i := range parts {
		if p := &parts[i]; p.at.Size > 0 {
			if err := f.readRun([]*part{p}); err != nil {
				return err
			}
		}
	}
	return nil
}

// readRuns copies sections in the order of the file.
func (f *parsed) readRuns(list []*part) error {
	for len(list) > 0 {
		n := 1
		for n < len(list) && list[n].at.Offset-list[n-1].at.End() < gap {
			n++
		}
		if err := f.readRun(list[:n]); err != nil {
			return err
		}
		list = list[n:]
	}
	return nil
}

// readRun copies sections that are next to each other.
func (f *parsed) readRun(run []*part) error {
	start := run[0].at.Offset
	b, err := driver.Private(f.src, start, run[len(run)-1].at.End()-start)
	if err != nil {
		return err
	}
	for _, p := range run {
		from, to := p.at.Offset-start, p.at.End()-start
		*p.bytes = b[from:to:to]
	}
	return nil
}

// check compares the CRC-32 of the section with the recorded one, if any.
func (p *part) check(got uint32) error {
	if p.sum == 0 || got == p.sum {
		return nil
	}
	return sumError(p.name+"_checksum", p.field, p.sum, got)
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
// depends on them, and fills the index.
func (f *parsed) readTensors(most int) error {
	sum, err := f.count()
	if err != nil {
		return err
	}
	if sum.constants > most {
		return fail("num_tensors", f.graph.base+4, format.ErrLimit, "%d tensors, the limit is %d", sum.constants, most)
	}
	if f.h.Features.Has(Compression) {
		if err := f.readCompression(sum.end); err != nil {
			return err
		}
	} else if sum.end > f.h.plainSize() {
		return fail("weights_size", f.h.sections()[2].field+8, format.ErrTruncated, "%d bytes, the last tensor ends at %d", f.h.plainSize(), sum.end)
	}
	f.index.Grow(sum.constants, sum.nameBytes, sum.dims)
	if f.comp != nil && f.comp.method != MethodNone || f.h.Features.Has(Encryption) {
		f.lazy = make([]int64, 0, sum.constants)
	}
	return f.fill()
}

// count checks all descriptors.
func (f *parsed) count() (sum totals, err error) {
	for i := range f.graph.tensors {
		d := f.graph.descriptor(i)
		if !d.measured() {
			if err := f.graph.checkDescriptor(i, d); err != nil {
				return sum, err
			}
			continue
		}
		end := d.offset() + d.size()
		if end < d.offset() || end > 1<<62 {
			return sum, fail(tensorField(i)+" offset", f.graph.base+int64(f.graph.descriptorAt(i)), format.ErrTruncated,
				"%d bytes from %d are beyond any file", d.size(), d.offset())
		}
		sum.end = max(sum.end, int64(end))
		sum.constants++
		sum.dims += int(d.rank())
		if f.names.list != nil {
			sum.nameBytes += f.names.list[i].To - f.names.list[i].From
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

// fill adds all constants to the index.
func (f *parsed) fill() error {
	var t driver.Tensor
	var room []byte
	if f.names.list == nil {
		room = make([]byte, 0, 32)
	}
	if f.comp != nil {
		t.Compression = f.comp.method.Name()
	}
	for i := range f.graph.tensors {
		d := f.graph.descriptor(i)
		if !d.constant() {
			continue
		}
		t.Name, t.DType, t.Shape = f.name(room, i), dtypeOf(d.code()), f.index.Dims(int(d.rank()))
		t.Offset, t.Size = f.h.Weights.Offset+int64(d.offset()), int64(d.size())
		d.shape(t.Shape)
		if f.lazy != nil {
			f.lazy = append(f.lazy, int64(d.offset()))
			t.Loaded, t.Offset = true, -1
			t.Stored = f.storedSize(d)
		}
		if f.index.Add(&t) != nil {
			return f.nameTwice(t.Name)
		}
	}
	return f.checkPlaceholderNames()
}

// storedSize returns what tensor.Info.Stored says of a tensor that is not in the
// file as such.
func (f *parsed) storedSize(d *descriptor) int64 {
	switch {
	case f.comp == nil || f.comp.method == MethodNone:
		return int64(d.size())
	case f.comp.chunked:
		return f.comp.storedSize(int64(d.offset()), int64(d.size()))
	}
	return -1
}
