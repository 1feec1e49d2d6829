package mobi

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/corpus"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/internal/wire"
)

// at returns a parser of a section in memory.
func at(section []byte) *parser {
	return &parser{r: wire.NewRecord(formatName, section, 0), f: &parsed{},
		opts: &driver.ParseOptions{}}
}

// TestDocumentedLayout: what reads a record reads the fields of its table in doc.go, each from its
// place. All values differ.
func TestDocumentedLayout(t *testing.T) {
	p := at(le("IBOM", uint16(1), uint16(2), []uint32{3, 4, 5, 6, 7, 8}))
	h, reserved := readHeaderFields(&p.r)
	corpus.Documented(t, "Header, 32 bytes", "", &p.r)
	want := Header{
		Magic: magicNumber, Version: 1, Checksum: 3, Flags: 4, FileSize: 5,
		MetadataOffset: 6, TensorOffset: 7, GraphOffset: 8,
	}
	expect.Equal(t, want, h)
	expect.Equal(t, uint16(2), reserved)

	p = at(append(le(uint32(2), "ab", uint32(3), uint64(4), uint32(5), uint32(6)),
		make([]byte, 11*specMin)...))
	inputs, outputs := p.readModel()
	corpus.Documented(t, "Model metadata, at the metadata offset", "model ", &p.r)
	model := modelInfo{name: "ab", framework: 3, created: 4}
	expect.Equal(t, model, p.f.model, cmp.AllowUnexported(modelInfo{}))
	expect.Equal(t, [2]int{5, 6}, [2]int{inputs, outputs})

	p = at(le(uint32(2), "ab", uint16(3), uint16(4), []uint64{5, 6, 7}))
	s := p.readSpec()
	corpus.Documented(t, "A spec; behind the last one are zeros up to the tensor data offset", "spec ",
		&p.r)
	expect.Equal(t, Spec{"ab", 4, []uint64{5, 6, 7}}, s)

	record := le(uint32(1), uint16(2), uint16(3), []uint64{4, 5, 6}, uint64(7))
	p = at(record)
	c := readConstant(&p.r)
	corpus.Documented(t,
		"A constant; they follow each other from the tensor data offset to the operator graph offset", "",
		&p.r)
	wantRecord := constantRecord{id: 1, dataType: 2, dims: wire.Uint64s(le([]uint64{4, 5, 6})), size: 7}
	expect.Equal(t, wantRecord, c, cmp.AllowUnexported(constantRecord{}))
	expect.Equal(t, wantRecord, decodeConstant(record), cmp.AllowUnexported(constantRecord{}))

	p = at(le(uint32(0)))
	p.readOperators()
	corpus.Documented(t, "Operator graph, from its offset exactly to the footer", "", &p.r)

	p = at(append(le(uint16(7), uint16(1), uint16(2), uint16(3), []uint32{4, 5, 6}),
		make([]byte, 3*paramMin)...))
	op, params := p.readOperator()
	corpus.Documented(t, "An operator", "operator ", &p.r)
	expect.Equal(t, Operator{Type: 7, Inputs: []uint32{4}, Outputs: []uint32{5, 6}}, op)
	expect.Equal(t, 3, params)

	p = at(le(uint16(2), "ab", uint8(0), uint32(3)))
	q := p.readParam()
	corpus.Documented(t, "A parameter", "parameter ", &p.r)
	expect.Equal(t, Param{"ab", int32(3)}, q)
}

// TestMemoryOfOperators: the smallest operators take 25 times their bytes in memory, of which a file
// gets 16 and 16 MiB unless a limit is set.
func TestMemoryOfOperators(t *testing.T) {
	const operators = 1 << 18
	m := image{ops: [][]byte{make([]byte, operators*operatorMin)}}
	count := uint32(operators)
	m.opCount = &count
	b := m.bytes()
	_, err := openBytes(b, nil)
	expect.Refused(t, format.ErrLimit)(nil, err)
	f, err := openBytes(b, &format.Options{MaxMemory: 1 << 30})
	expect.OK(t, err)
	defer f.Close()
	expect.Equal(t, operators, len(f.Operators()))
}
