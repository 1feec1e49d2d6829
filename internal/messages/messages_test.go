package messages

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/tensor"
)

// The types of the test's schema: a graph of nodes with attributes, which may have graphs.
const (
	typeGraph Type = iota
	typeNode
	typeAttribute
	typeTensor
	typeNote
)

var testSchema = Schema{
	typeGraph: {Name: "Graph", Fields: []Field{
		1: {Name: "node", Kind: Nested, Many: true, Of: typeNode, Limit: Nodes},
		2: {Name: "name", Kind: Name},
		5: {Name: "initializer", Kind: Nested, Many: true, Of: typeTensor, Use: Declares},
		6: {Name: "note", Kind: Nested, Many: true, Of: typeNote, Use: Native | Annotation},
		7: {Name: "type", Kind: Nested, Many: true, Of: typeNote, Use: Typed},
		8: {Name: "function", Kind: Nested, Many: true, Of: typeNode, Use: Scope},
	}},
	typeNode: {Name: "Node", Fields: []Field{
		1: {Name: "input", Kind: String, Many: true, Use: Ref},
		5: {Name: "attribute", Kind: Nested, Many: true, Of: typeAttribute},
		7: {Name: "domain", Kind: Ours},
	}},
	typeAttribute: {Name: "Attribute", OneOf: 1<<2 | 1<<3, Fields: []Field{
		1: {Name: "name", Kind: String},
		2: {Name: "f", Kind: Float},
		3: {Name: "i", Kind: Int},
		4: {Name: "type", Kind: Enum},
		5: {Name: "t", Kind: Nested, Of: typeTensor},
		6: {Name: "g", Kind: Nested, Of: typeGraph},
		7: {Name: "floats", Kind: Float, Many: true},
		8: {Name: "ints", Kind: Int, Many: true, Limit: Numbers},
		9: {Name: "doubles", Kind: Double, Many: true},
	}},
	typeTensor: {Name: "Tensor", Fields: []Field{
		1: {Name: "dims", Kind: Int, Many: true, Limit: Dims},
		3: {Name: "raw", Kind: Blob},
		8: {Name: "name", Kind: String},
	}},
	typeNote: {Name: "Note", Fields: []Field{1: {Name: "of", Kind: String, Use: Ref}}},
}

// The functions below encode by the specification of protocol buffers.

func uv(v uint64) []byte { return binary.AppendUvarint(nil, v) }

func cat(parts ...[]byte) []byte { return bytes.Join(parts, nil) }

func num(field int, v uint64) []byte { return cat(uv(uint64(field)<<3), uv(v)) }

func ld(field int, parts ...[]byte) []byte {
	b := cat(parts...)
	return cat(uv(uint64(field)<<3|2), uv(uint64(len(b))), b)
}

func str(field int, s string) []byte { return ld(field, []byte(s)) }

func f32(field int, v float32) []byte {
	return binary.LittleEndian.AppendUint32(uv(uint64(field)<<3|5), math.Float32bits(v))
}

func nested(levels int) []byte {
	var b []byte
	for range levels {
		b = ld(1, ld(5, ld(6, b)))
	}
	return b
}

// badEncodings are messages with one fault each, behind a node of five bytes.
var badEncodings = []struct {
	name  string
	b     []byte
	at    int64
	field string
	text  string
}{
	{"tag that is cut", []byte{0x80}, 5, "", "bad varint: unexpected EOF"},
	{"tag of 11 bytes", bytes.Repeat([]byte{0x80}, 11), 5, "", "bad varint: it has more than 64 bits"},
	{"tag beyond 64 bits", cat(bytes.Repeat([]byte{0x80}, 9), []byte{2}), 5, "", "bad varint: it has more than 64 bits"},
	{"field 0", []byte{0, 0}, 5, "", "field number 0"},
	{"field 2^29", cat(uv(1<<32), []byte{0}), 5, "", "field number 536870912"},
	{"group", []byte{99<<3&0x7f | 3 | 0x80, 6}, 5, "", "field 99: wire type 3 is not allowed"},
	{"end of a group", []byte{2<<3 | 4}, 5, "name", "field 2: wire type 4 is not allowed"},
	{"wire type 6", []byte{2<<3 | 6}, 5, "name", "field 2: wire type 6 is not allowed"},
	{"wire type 7", []byte{2<<3 | 7}, 5, "name", "field 2: wire type 7 is not allowed"},
	{"length that is missing", []byte{2<<3 | 2}, 6, "name", "bad varint: unexpected EOF"},
	{"length beyond the message", []byte{2<<3 | 2, 2, 'x'}, 5, "name", "field 2 has 2 bytes, 1 are left in the message"},
	{"length of 2^64-1", cat([]byte{2<<3 | 2}, uv(math.MaxUint64)), 5, "name", "field 2 has 18446744073709551615 bytes, 0 are left in the message"},
	{"length of an unknown field", []byte{12<<3 | 2, 1}, 5, "", "field 12 has 1 bytes, 0 are left in the message"},
	{"name as number", num(2, 1), 5, "name", "wire type 0 instead of 2"},
	{"node as number", num(1, 1), 5, "node[1]", "wire type 0 instead of 2"},
	{"name that is no UTF-8", str(2, "a\xff"), 5, "name", "invalid UTF-8"},
	{"name with NUL", str(2, "a\x00"), 5, "name", "name contains a NUL byte"},
	{"input that is no UTF-8", ld(1, str(1, ""), str(1, "\xff")), 9, "node[1].input[1]", "invalid UTF-8"},
	{"node that ends in a field", ld(1, []byte{1<<3 | 2, 9}), 7, "node[1].input[0]", "field 1 has 9 bytes, 0 are left in the message"},
	{"number that is cut", attribute([]byte{3 << 3, 0x80}), 10, "node[1].attribute[0].i", "bad varint: unexpected EOF"},
	{"number beyond 64 bits", attribute([]byte{3 << 3}, bytes.Repeat([]byte{0xff}, 9), []byte{2}), 10, "node[1].attribute[0].i", "bad varint: it has more than 64 bits"},
	{"float of 3 bytes", attribute([]byte{2<<3 | 5, 0, 0, 0}), 9, "node[1].attribute[0].f", "field 2 has 4 bytes, 3 are left in the message"},
	{"fixed64 of 7 bytes", attribute([]byte{12<<3 | 1}, make([]byte, 7)), 9, "node[1].attribute[0]", "field 12 has 8 bytes, 7 are left in the message"},
	{"float as fixed64", attribute([]byte{2<<3 | 1}, make([]byte, 8)), 9, "node[1].attribute[0].f", "wire type 1 instead of 5"},
	{"number as packed list", attribute(ld(3, []byte{1})), 9, "node[1].attribute[0].i", "wire type 2 instead of 0"},
	{"enum of 2^31", attribute(num(4, 1<<31)), 9, "node[1].attribute[0].type", "enum value 2147483648 beyond int32"},
	{"enum below int32", attribute(num(4, 1<<64-1<<31-1)), 9, "node[1].attribute[0].type", "enum value -2147483649 beyond int32"},
	{"field that ends its messages", attribute([]byte{3 << 3}), 10, "node[1].attribute[0].i", "bad varint: unexpected EOF"},
	{"half a float", attribute(ld(7, make([]byte, 6))), 9, "node[1].attribute[0].floats", "6 bytes are no whole number of values of 4 bytes"},
	{"half a double", attribute(ld(9, make([]byte, 12))), 9, "node[1].attribute[0].doubles", "12 bytes are no whole number of values of 8 bytes"},
	{"list that ends in a number", attribute(ld(8, []byte{1, 0x80, 0x80})), 12, "node[1].attribute[0].ints", "bad varint: unexpected EOF"},
	{"number of a list beyond 64 bits", attribute(ld(8, []byte{1}, bytes.Repeat([]byte{0xff}, 9), []byte{2})), 12, "node[1].attribute[0].ints", "bad varint: it has more than 64 bits"},
	{"both of a oneof", attribute(f32(2, 1), num(3, 1)), 14, "node[1].attribute[0].i", "both arms of the oneof are set"},
	{"101 levels", nested(34), 120, "node[1].attribute[0].g" + strings.Repeat(".node[0].attribute[0].g", 32) + ".node[0]", "messages nest deeper than 100 levels"},
}

func attribute(parts ...[]byte) []byte { return ld(1, ld(5, parts...)) }

var firstNode = ld(1, str(1, "x"))

// TestCheck: bad encoding is refused, with the name and the offset of the field.
func TestCheck(t *testing.T) {
	for _, tt := range badEncodings {
		t.Run(tt.name, func(t *testing.T) {
			b := string(cat(firstNode, tt.b))
			_, err := testSchema.Check(typeGraph, b, NewCounts())
			var e *Error
			if !errors.As(err, &e) {
				t.Fatalf("%v", err)
			}
			expect.Equal(t, tensor.ErrCorrupt.Error()+": "+tt.text, err.Error())
			expect.Equal(t, tt.field, testSchema.Path(typeGraph, b, e))
			if tt.name != "101 levels" {
				expect.Equal(t, tt.at, e.At+e.Skip)
			}
			// What reads a message without checking it comes to an end.
			for f := Outermost(b).Cursor(); f.Next(); {
			}
		})
	}
}

// TestShort: only a field that its message ends in is short.
func TestShort(t *testing.T) {
	short := []string{"tag that is cut", "length that is missing", "length beyond the message", "length of 2^64-1", "length of an unknown field",
		"node that ends in a field", "number that is cut", "field that ends its messages", "float of 3 bytes", "fixed64 of 7 bytes", "list that ends in a number"}
	for _, tt := range badEncodings {
		_, err := testSchema.Check(typeGraph, string(tt.b), NewCounts())
		var e *Error
		if !errors.As(err, &e) || e.Short != slices.Contains(short, tt.name) {
			t.Errorf("%s: %+v", tt.name, err)
		}
	}
}

// TestTolerated: what other writers may do.
func TestTolerated(t *testing.T) {
	for name, b := range map[string][]byte{
		"nothing":                    nil,
		"long varints":               {2<<3&0x7f | 2 | 0x80, 0x80, 0, 0x81, 0x80, 0, 'x'},
		"a number of 10 bytes":       attribute(num(3, math.MaxUint64)),
		"an enum of 10 bytes":        attribute(num(4, 1<<64-1)),
		"unknown fields":             cat(num(99, 1), f32(99, 1), str(99, "\xff"), ld(3, []byte{0xff})),
		"lists, packed and not":      attribute(num(8, 1), ld(8, []byte{1, 2}), ld(8), f32(7, 1), ld(7, make([]byte, 8))),
		"one of a oneof twice":       attribute(num(3, 1), num(3, 2)),
		"a domain that is a number":  ld(1, num(7, 1)),
		"a domain that is no UTF-8":  ld(1, str(7, "\xff")),
		"fields of a message twice":  cat(str(2, "a"), str(2, "b")),
		"100 levels":                 nested(33),
		"a blob that is no UTF-8":    ld(5, str(3, "\xff\x00")),
		"fields of 2^29-1 and empty": cat(ld(maxNumber), ld(1)),
	} {
		_, err := testSchema.Check(typeGraph, string(b), NewCounts())
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	deep := NewCounts()
	deep.Around = 1
	_, err := testSchema.Check(typeGraph, string(nested(33)), deep)
	expect.Refused(t, tensor.ErrCorrupt, "100 levels within another")(nil, err)
}

// TestLimits: elements are counted over all messages, and packed numbers one by one.
func TestLimits(t *testing.T) {
	for _, tt := range []struct {
		name  string
		limit Limit
		b     []byte
		n     int64
		field string
	}{
		{"nodes", Nodes, cat(ld(1), ld(1), attribute(ld(6, ld(1)))), 4, "node[2].attribute[0].g.node[0]"},
		{"numbers", Numbers, attribute(num(8, 1), ld(8, []byte{1, 2, 0x80, 1})), 4, "node[0].attribute[0].ints"},
		{"dims", Dims, cat(ld(5, num(1, 1)), ld(5, ld(1, []byte{1, 2}))), 3, "initializer[1].dims"},
	} {
		counts := NewCounts()
		counts.Max[tt.limit] = tt.n
		_, err := testSchema.Check(typeGraph, string(tt.b), counts)
		expect.OK(t, err)
		counts = NewCounts()
		counts.Max[tt.limit] = tt.n - 1
		_, err = testSchema.Check(typeGraph, string(tt.b), counts)
		var e *Error
		if !errors.As(err, &e) || !errors.Is(err, tensor.ErrLimit) || !strings.HasSuffix(err.Error(), tt.name) {
			t.Fatalf("%s: %v", tt.name, err)
		}
		expect.Equal(t, tt.field, testSchema.Path(typeGraph, string(tt.b), e))
	}
	room := Room{Most: 10}
	if room.Charge(0, 10) != nil {
		t.Error("10 bytes do not fit in 10")
	}
	if err := room.Charge(7, 1); err == nil || err.At != 7 || !errors.Is(err, tensor.ErrLimit) {
		t.Errorf("11 bytes in 10: %v", err)
	}
}

// TestPath: an error about a message, and about a field that it lacks.
func TestPath(t *testing.T) {
	b := cat(firstNode, attribute(num(3, 1)), ld(5, num(1, 3)))
	for _, tt := range []struct {
		err  Error
		want string
	}{
		{Error{Whole: true}, ""},
		{Error{Whole: true, Field: "initializer"}, "initializer"},
		{Error{At: 5}, "node[1]"},
		{Error{At: 5, Field: "attribute"}, "node[1].attribute"},
		{Error{At: 9}, "node[1].attribute[0].i"},
		{Error{At: 9, Skip: 1}, "node[1].attribute[0].i"},
		{Error{At: 11}, "initializer[0]"},
		{Error{At: 13}, "initializer[0].dims"},
		{Error{At: 15}, ""},
	} {
		if got := testSchema.Path(typeGraph, string(b), &tt.err); got != tt.want {
			t.Errorf("%+v: %q, want %q", tt.err, got, tt.want)
		}
	}
}

// TestCursor: the values of fields.
func TestCursor(t *testing.T) {
	b := cat(num(3, 1<<64-2), f32(2, 0.5), ld(8, []byte{1, 0x80, 1}), num(8, 7), ld(7, make([]byte, 4)), f32(7, 2), str(1, "name"), ld(5, str(8, "w")))
	var got []string
	var counts []int
	var ints []int64
	var small []int32
	var floats []float32
	for f := Outermost(string(b)).Cursor(); f.Next(); {
		got = append(got, fmt.Sprintf("%d at %d: %x", f.Number, f.At(), f.Raw()))
		switch f.Number {
		case 3:
			expect.Equal(t, []any{int64(-2), int32(-2), uint64(1<<64 - 2)}, []any{f.Int(), f.Enum(), f.Bits()})
		case 2:
			expect.Equal(t, float32(0.5), f.Float())
		case 8:
			counts = append(counts, f.Ints(), f.Run())
			ints = AppendInts(ints, &f)
			small = AppendInts(small, &f)
		case 7:
			expect.Equal(t, 1, f.Floats())
			floats = AppendFloats(floats, &f)
		case 1:
			expect.Equal(t, "name", f.Text())
		case 5:
			m := f.Message()
			expect.Equal(t, f.At()+2, m.At())
			expect.Equal(t, string(str(8, "w")), m.Text())
		}
	}
	expect.Equal(t, []int{2, 2, 1, 1}, counts)
	expect.Equal(t, []int64{1, 128, 7}, ints)
	expect.Equal(t, []int32{1, 128, 7}, small)
	expect.Equal(t, []float32{0, 2}, floats)
	want := []string{"3 at 0: 18feffffffffffffffff01", "2 at 11: 150000003f", "8 at 16: 4203018001", "8 at 21: 4007", "7 at 23: 3a0400000000", "7 at 29: 3d00000040", "1 at 34: 0a046e616d65", "5 at 40: 2a03420177"}
	expect.Equal(t, want, got)
}

// TestAppend: what is written, byte by byte.
func TestAppend(t *testing.T) {
	message, start := Begin(nil, 5)
	message = End(append(message, bytes.Repeat([]byte{7}, 200)...), start)
	for _, tt := range []struct {
		name      string
		got, want []byte
	}{
		{"varint", AppendVarint(nil, 3, -1), num(3, math.MaxUint64)},
		{"zero", AppendVarint(nil, 3, 0), num(3, 0)},
		{"zero that is left out", AppendInt(nil, 3, 0), nil},
		{"integer", AppendInt(nil, 300, 128), num(300, 128)},
		{"float", AppendFloat(nil, 2, 0.5), f32(2, 0.5)},
		{"text", AppendText(nil, 1, "text"), str(1, "text")},
		{"text that is left out", AppendText(nil, 1, ""), nil},
		{"empty bytes", AppendBytes(nil, 1, []byte{}), ld(1)},
		{"integers", AppendPackedInts(nil, 8, []int64{1, 128, -1}), ld(8, []byte{1}, uv(128), uv(math.MaxUint64))},
		{"no integers", AppendPackedInts(nil, 8, []int32{}), nil},
		{"floats", AppendPackedFloats(nil, 7, []float32{0, 2}), ld(7, []byte{0, 0, 0, 0, 0, 0, 0, 0x40})},
		{"no floats", AppendPackedFloats(nil, 7, nil), nil},
		{"message", message, ld(5, bytes.Repeat([]byte{7}, 200))},
		{"only", AppendOnly(nil, Outermost(string(cat(num(1, 1), num(2, 2), num(3, 3)))), 1, 3), cat(num(1, 1), num(3, 3))},
		{"others", AppendOthers(nil, Outermost(string(cat(num(1, 1), num(2, 2), num(3, 3)))), 1, 3), num(2, 2)},
	} {
		if diff := cmp.Diff(tt.want, tt.got); tt.want != nil && diff != "" || tt.want == nil && len(tt.got) > 0 {
			t.Errorf("%s: (-want +got)\n%s", tt.name, diff)
		}
	}
	for v, n := range map[uint64]int{0: 1, 127: 1, 128: 2, math.MaxUint64: 10} {
		expect.Equal(t, n, VarintSize(v))
	}
}

// TestEdit: what a copy changes, and that the rest stays as it is.
func TestEdit(t *testing.T) {
	long := []byte{1<<3 | 2, 0x82, 0, 7 << 3, 1} // a node with a longer length than needed
	graph := func(w, l string) []byte {
		return cat(ld(1, str(1, w), str(1, "x"), str(7, "w")), str(2, "w"), num(99, 1), long,
			ld(5, num(1, 2), str(8, w)), ld(1, ld(5, str(1, "g"), ld(6, ld(1, str(1, w)), ld(5, str(8, w))))), ld(6, str(1, "x")), ld(6, str(1, l)), ld(7, num(99, 1)), ld(8, str(1, "w")))
	}
	renamed := map[string]string{"w": "new"}
	for _, tt := range []struct {
		name    string
		e       Edit
		want    []byte
		dropped map[string]int
		clash   bool
	}{
		{"nothing", Edit{}, graph("w", "l"), nil, false},
		{"names that stay", Edit{Names: map[string]string{"w": "w"}}, graph("w", "l"), nil, false},
		{"a name", Edit{Names: renamed}, graph("new", "l"), nil, false},
		{"a name that is taken", Edit{Names: renamed, Fresh: map[string]bool{"x": true}}, graph("new", "l"), nil, true},
		{"a name that an annotation has", Edit{Names: renamed, Fresh: map[string]bool{"l": true}}, bytes.Replace(graph("new", "l"), ld(6, str(1, "l")), nil, 1), map[string]int{"note": 1}, false},
		{"an annotation", Edit{Gone: map[string]bool{"l": true}}, bytes.Replace(graph("w", "l"), ld(6, str(1, "l")), nil, 1), map[string]int{"note": 1}, false},
		{"types", Edit{Retyped: true}, bytes.Replace(graph("w", "l"), ld(7, num(99, 1)), nil, 1), map[string]int{"type": 1}, false},
	} {
		e := tt.e
		e.Schema = testSchema
		e.Tensor = typeTensor
		e.TensorName = 8
		e.Dropped = map[string]int{}
		got := e.AppendMessage([]byte("before"), typeGraph, Outermost(string(graph("w", "l"))))
		if diff := cmp.Diff("before"+string(tt.want), string(got)); tt.want != nil && diff != "" {
			t.Errorf("%s: (-want +got)\n%s", tt.name, diff)
		}
		if len(tt.dropped)+len(e.Dropped) > 0 {
			expect.Equal(t, tt.dropped, e.Dropped)
		}
		expect.Equal(t, tt.clash, e.Clash)
	}
}

// TestReplace: the contents of tensors are replaced where they are.
func TestReplace(t *testing.T) {
	graph := func(first, last []byte) []byte {
		return cat(ld(5, first), attribute(ld(5, num(1, 3))), ld(8, ld(5, ld(5, last))))
	}
	broken := errors.New("broken")
	for name, fail := range map[string]error{"all": nil, "an error": broken} {
		e := Edit{Schema: testSchema, Tensor: typeTensor, Replace: func(b []byte, m Message) ([]byte, bool, error) {
			if m.Text() != string(num(1, 2)) {
				return append(b, 99), false, nil
			}
			return append(b, num(1, 300)...), true, fail
		}}
		got := e.AppendMessage(nil, typeGraph, Outermost(string(graph(num(1, 2), num(1, 2)))))
		if !errors.Is(e.Err, fail) {
			t.Errorf("%s: %v", name, e.Err)
		}
		if fail == nil {
			expect.Equal(t, graph(num(1, 300), num(1, 300)), got)
		}
	}
}

// memoryFile is a wire.File.
type memoryFile struct{ *bytes.Reader }

func (f memoryFile) ReadAhead(p []byte, off int64) (int, error) { return f.ReadAt(p, off) }
func (f memoryFile) Record([]byte, int64) error                 { return nil }

// TestScan: a message in a file has the same fields and errors as in memory, on its own level.
func TestScan(t *testing.T) {
	large := ld(5, ld(1, bytes.Repeat([]byte{0x80, 1}, 70_000)), num(1, 1))
	whole := cat(firstNode, large, num(99, 5), f32(98, 1), large)
	front := []byte("front")
	s := OpenSection(memoryFile{bytes.NewReader(cat(front, whole))}, int64(len(front)), int64(len(whole)))
	defer s.Close()
	var names []string
	var values []int64
	g := s.Scan(testSchema, typeGraph, "graph")
	for g.Next() {
		names = append(names, g.Name())
		if g.Number != 5 {
			continue
		}
		tensor := g.Inner(typeTensor)
		for tensor.Next() {
			values = append(values, tensor.Values())
		}
		expect.OK(t, tensor.Err())
		b, err := s.Append([]byte("x"), g.At, g.End)
		expect.OK(t, err)
		expect.Equal(t, true, string(b) == "x"+string(large))
	}
	expect.OK(t, g.Err())
	expect.Equal(t, []string{"graph.node[0]", "graph.initializer[0]", "graph", "graph", "graph.initializer[1]"}, names)
	expect.Equal(t, []int64{70_000, 1, 70_000, 1}, values)
	for _, tt := range badEncodings {
		b := cat(firstNode, tt.b)
		var want *Error
		_, err := testSchema.Check(typeGraph, string(b), NewCounts())
		errors.As(err, &want)
		err = scanErr(b)
		var got *Placed
		if strings.Contains(tt.field, ".") || strings.Contains(tt.text, "UTF-8") || strings.Contains(tt.text, "NUL") {
			expect.OK(t, err)
		} else if !errors.As(err, &got) || got.At != want.At+want.Skip || got.Field != strings.TrimSuffix("graph."+tt.field, ".") || got.Short != want.Short || got.Err.Error() != want.Error() {
			t.Errorf("%s: %+v, want %+v", tt.name, got, want)
		}
	}
}

func scanErr(b []byte) error {
	s := SectionOf(string(b))
	g := s.Scan(testSchema, typeGraph, "graph")
	for g.Next() && g.Admits() {
	}
	return g.Err()
}

// TestScanValues: bad lists in a file, in one piece or two.
func TestScanValues(t *testing.T) {
	many := bytes.Repeat([]byte{1}, piece-5)
	for _, tt := range []struct {
		name string
		b    []byte
		n    int64
		at   int64
		text string
	}{
		{"good", ld(8, []byte{1, 0x80, 1}), 2, 0, ""},
		{"one", num(8, 3), 1, 0, ""},
		{"no list", str(1, "name"), 1, 0, ""},
		{"doubles", ld(9, make([]byte, 16)), 2, 0, ""},
		{"between pieces", ld(8, many, []byte{0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 1}), piece - 4, 0, ""},
		{"cut", ld(8, []byte{1, 0x80}), 0, 3, "unexpected EOF"},
		{"overflow between pieces", ld(8, many, bytes.Repeat([]byte{0xff}, 10)), 0, piece - 5 + 4, "more than 64 bits"},
		{"half a float", ld(7, make([]byte, 5)), 0, 0, "5 bytes are no whole number of values of 4 bytes"},
	} {
		s := SectionOf(string(tt.b))
		c := s.Scan(testSchema, typeAttribute, "a")
		c.Next()
		n := c.Values()
		var e *Placed
		switch {
		case tt.text == "":
			expect.OK(t, c.Err())
			expect.Equal(t, tt.n, n)
		case !errors.As(c.Err(), &e) || e.At != tt.at || !strings.Contains(e.Err.Error(), tt.text):
			t.Errorf("%s: %+v", tt.name, c.Err())
		}
	}
}

// TestScanUnread: errors of reading end the loop, wherever they occur.
func TestScanUnread(t *testing.T) {
	b := cat(ld(3, make([]byte, 200_000)), ld(1, bytes.Repeat([]byte{1}, 100_000)), num(1, 1))
	for _, size := range []int64{0, 200_003, 200_010} {
		s := OpenSection(memoryFile{bytes.NewReader(b[:size])}, 0, int64(len(b)))
		c := s.Scan(testSchema, typeTensor, "t")
		for c.Next() {
			c.Values()
		}
		if !errors.Is(c.Err(), io.EOF) && !errors.Is(c.Err(), io.ErrUnexpectedEOF) {
			t.Errorf("%d bytes: %v", size, c.Err())
		}
		_, err := s.Append(nil, 0, s.Size)
		if err == nil {
			t.Errorf("%d bytes: all were appended", size)
		}
		s.Close()
	}
}

// TestScanEnd: a field ends with its message, though more of the file is in memory, and a Scan may
// go back to what is not.
func TestScanEnd(t *testing.T) {
	b := cat(ld(5, []byte{1 << 3}), ld(5, num(1, 1)), make([]byte, 2000))
	s := OpenSection(memoryFile{bytes.NewReader(b)}, 0, 7)
	defer s.Close()
	_, err := s.Text(5, 2)
	expect.OK(t, err)
	g := s.Scan(testSchema, typeGraph, "g")
	g.Next()
	inner := g.Inner(typeTensor)
	for inner.Next() {
		t.Errorf("field %d of a message that ends in its tag", inner.Number)
	}
	var p *Placed
	if !errors.As(inner.Err(), &p) || p.At != 3 || p.Field != "g.initializer[0].dims" || !p.Short {
		t.Errorf("%+v", inner.Err())
	}
}

// TestConsumeTag: good and bad tags.
func TestConsumeTag(t *testing.T) {
	for _, tt := range []struct {
		b               []byte
		number, wire, n int
	}{
		{[]byte{1<<3 | 2}, 1, 2, 1}, {uv(300<<3 | 5), 300, 5, 2}, {nil, 0, 0, 0}, {[]byte{0x80}, 0, 0, 0}, {[]byte{5}, 0, 0, 0},
		{uv((maxNumber + 1) << 3), 0, 0, 0}, {bytes.Repeat([]byte{0xff}, 10), 0, 0, -1},
	} {
		number, wire, n := ConsumeTag(string(tt.b))
		expect.Equal(t, []int{tt.number, tt.wire, tt.n}, []int{number, wire, n})
	}
}

// TestCopy: a copy knows where its bytes are in the file, and its memory is counted.
func TestCopy(t *testing.T) {
	file := cat(str(2, "graph"), ld(5, str(3, "data"), str(8, "w")), num(99, 1))
	s := SectionOf(string(file))
	memory := driver.NewMemory(1 << 20)
	var c, shell Copy
	c.Begin(memory)
	shell.Begin(memory)
	expect.Equal(t, int64(0), c.At(0))
	g := s.Scan(testSchema, typeGraph, "")
	for g.Next() {
		if g.Number != 5 {
			g.Keep(&c)
			continue
		}
		shell.Reset()
		inner := g.Inner(typeTensor)
		for inner.Next() {
			if inner.Number == 3 {
				inner.Replace(&shell, ld(3), inner.At)
			} else {
				inner.Keep(&shell)
			}
		}
		expect.Equal(t, []int64{9, 15}, []int64{shell.At(0), shell.At(2)})
		g.ReplaceWith(&c, &shell)
	}
	expect.OK(t, g.Err())
	shell.Drop()
	expect.OK(t, c.Finish())
	want := cat(str(2, "graph"), ld(5, ld(3), str(8, "w")), num(99, 1))
	expect.Equal(t, string(want), c.Text())
	expect.Equal(t, []int64{0, 7, 18, 19}, []int64{c.At(0), c.At(7), c.At(14), c.At(15)})
	expect.Equal(t, int64(1<<20-len(want)-2*cutBytes), memory.Left())
	c.Drop()
	expect.Equal(t, int64(1<<20), memory.Left())
}

// TestCopyLimits: memory is counted before it is allocated, and the error names the field.
func TestCopyLimits(t *testing.T) {
	b := cat(num(99, 1), str(2, "a name that is long"))
	for _, most := range []int64{1, 10, 60, 160} {
		var c Copy
		c.Begin(driver.NewMemory(most))
		g := SectionOf(string(b)).Scan(testSchema, typeGraph, "graph")
		for g.Next() {
			g.Keep(&c)
		}
		if most == 160 {
			expect.OK(t, g.Err())
			expect.Refused(t, tensor.ErrLimit, "finished")(nil, c.Finish())
			continue
		}
		var p *Placed
		if !errors.As(g.Err(), &p) || !errors.Is(p, tensor.ErrLimit) || !strings.HasPrefix(p.Field, "graph") {
			t.Errorf("%d bytes: %v", most, g.Err())
		}
		c.Drop()
	}
	whole := cat(uv(2<<3|2), uv(driver.MaxStructure+1), make([]byte, 100))
	s := OpenSection(memoryFile{bytes.NewReader(whole)}, 0, driver.MaxStructure+100)
	defer s.Close()
	var c Copy
	c.Begin(nil)
	g := s.Scan(testSchema, typeGraph, "")
	g.Next()
	g.Keep(&c)
	expect.Refused(t, tensor.ErrLimit, "name")(nil, g.Err())
}

// TestCopyGrowth: while a copy grows, old and new memory count.
func TestCopyGrowth(t *testing.T) {
	text := string(bytes.Repeat(str(2, "12345678"), 600)) // 6,000 bytes, adjacent in the file
	const cuts = fewCuts * cutBytes
	for most, grows := range map[int64]bool{leastCopy + 6000 + cuts: true, leastCopy + 6000 + cuts - 1: false} {
		var c Copy
		c.Begin(driver.NewMemory(most))
		g := SectionOf(text).Scan(testSchema, typeGraph, "")
		for g.Next() {
			g.Keep(&c)
		}
		if (g.Err() == nil) != grows {
			t.Errorf("%d bytes for the text: %v", most, g.Err())
		}
	}
	apart := string(bytes.Repeat(cat(str(2, "a"), str(2, "b")), fewCuts+1)) // a is not kept
	for most, grows := range map[int64]bool{54 + 3*cuts: true, 54 + 3*cuts - 1: false} {
		var c Copy
		c.Begin(driver.NewMemory(most))
		g := SectionOf(apart).Scan(testSchema, typeGraph, "")
		for i := 0; g.Next(); i++ {
			if i%2 != 0 {
				g.Keep(&c)
			}
		}
		if (g.Err() == nil) != grows {
			t.Errorf("%d bytes for the cuts: %v", most, g.Err())
		}
	}
}

// TestScanText: a text of more than a gigabyte is refused before it is read.
func TestScanText(t *testing.T) {
	b := cat(str(2, "name"), uv(2<<3|2), uv(driver.MaxStructure+1), make([]byte, 100))
	s := OpenSection(memoryFile{bytes.NewReader(b)}, 0, driver.MaxStructure+100)
	defer s.Close()
	c := s.Scan(testSchema, typeGraph, "graph")
	c.Next()
	text, err := c.Text()
	expect.OK(t, err)
	expect.Equal(t, "name", text)
	c.Next()
	_, err = c.Text()
	expect.Refused(t, tensor.ErrLimit, "graph.name")(nil, err)
	expect.Refused(t, tensor.ErrLimit, "graph.name")(nil, c.Err())
}

// TestHostile: checking and walking take no memory, and no more than linear time.
func TestHostile(t *testing.T) {
	const size = 1 << 20
	for name, b := range map[string][]byte{
		"fields of two bytes": bytes.Repeat([]byte{3 << 3, 0}, size/2),
		"empty nodes":         bytes.Repeat([]byte{1<<3 | 2, 0}, size/2),
		"empty inputs":        ld(1, bytes.Repeat([]byte{1<<3 | 2, 0}, size/2)),
		"empty attributes":    ld(1, bytes.Repeat([]byte{5<<3 | 2, 0}, size/2)),
		"packed numbers":      attribute(ld(8, make([]byte, size))),
		"unpacked numbers":    attribute(bytes.Repeat([]byte{8 << 3, 0}, size/2)),
		"one unknown field":   ld(99, make([]byte, size)),
	} {
		text := string(b)
		counts := NewCounts()
		n := testing.AllocsPerRun(3, func() {
			*counts = *NewCounts()
			m, err := testSchema.Check(typeGraph, text, counts)
			expect.OK(t, err)
			for f := m.Cursor(); f.Next(); {
			}
		})
		if n > 1 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

// FuzzCheck: in what is accepted, loops end with the message, and a copy without a change is the same.
func FuzzCheck(f *testing.F) {
	for _, tt := range badEncodings {
		f.Add(tt.b)
	}
	f.Add(cat(firstNode, attribute(num(3, 1), ld(6, firstNode)), ld(5, num(1, 2), str(8, "w")), ld(6, str(1, "w"))))
	f.Fuzz(func(t *testing.T, b []byte) {
		text := string(b)
		m, err := testSchema.Check(typeGraph, text, NewCounts())
		if err != nil {
			var e *Error
			if !errors.As(err, &e) || e.At < 0 || e.At+e.Skip > int64(len(b)) {
				t.Fatalf("%+v", err)
			}
			testSchema.Path(typeGraph, text, e)
			return
		}
		if n := walk(t, typeGraph, m); n != len(b) {
			t.Fatalf("%d of %d bytes", n, len(b))
		}
		expect.OK(t, scanErr(b))
		e := Edit{Schema: testSchema, Tensor: typeTensor, TensorName: 8, Names: map[string]string{"w": "w"}, Dropped: map[string]int{}}
		if got := e.AppendMessage(nil, typeGraph, m); !bytes.Equal(got, b) {
			t.Fatalf("copy: %x", got)
		}
	})
}

// walk walks all messages, and returns the number of bytes.
func walk(t *testing.T, typ Type, m Message) (n int) {
	for f := m.Cursor(); f.Next(); {
		n += len(f.Raw())
		def := testSchema.Field(typ, &f)
		if def == nil {
			continue
		}
		if f.Ints() < 0 || f.Floats() < 0 || len(AppendInts[int64](nil, &f)) > len(f.Raw()) {
			t.Fatal("more values than bytes")
		}
		if def.Kind == Nested && walk(t, def.Of, f.Message()) != len(f.Text()) {
			t.Fatal("a loop ends within its message")
		}
	}
	return n
}
