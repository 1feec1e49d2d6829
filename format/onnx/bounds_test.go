package onnx

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/protobuf"
	"github.com/weightmap/weightmap/internal/testhost"
	"github.com/weightmap/weightmap/tensor"
)

// sparseOf is a sparse initializer of shape [5] with these values.
func sparseOf(values ...[]byte) []byte {
	return ld(15, cat(values...), ld(2, num(1, 1), num(2, 7), num(7, 1)), num(3, 5))
}

// TestFieldsDisagree has fields that are good by themselves.
func TestFieldsDisagree(t *testing.T) {
	one := ld(5, num(1, 1), num(2, 2), ld(9, []byte{1}))
	for _, tt := range []struct {
		name  string
		file  []byte
		field string
	}{
		{"two tensors in an attribute", attributed(one, one), "graph.node[1].attribute[0].t"},
		{"sparse without values", modelOf(sparseOf()), "graph.sparse_initializer[0].values"},
		{"sparse values of two dims", modelOf(sparseOf(ld(1, num(1, 1), num(1, 1), num(2, 1), str(8, "s"), f32(4, 1)))), "graph.sparse_initializer[0].values"},
		{"int32_data as fixed32", modelOf(tensorOf(num(1, 4), num(2, 3), str(8, "w"), f32(5, 0))), "graph.initializer[0].int32_data"},
		{"a float and a half", modelOf(tensorOf(num(1, 2), num(2, 1), str(8, "w"), ld(4, make([]byte, 6))), weight("v")), "graph.initializer[0].float_data"},
		{"data_location 2", modelOf(tensorOf(num(1, 1), num(2, 2), str(8, "w"), ld(9, []byte{1}), num(14, 2))), "graph.initializer[0].data_location"},
		{"two lists of as many values as there are elements", modelOf(tensorOf(num(1, 2), num(2, 1), str(8, "w"), num(5, 1), f32(4, 1))), "graph.initializer[0].float_data"},
		{"complex128 of 2^63 bytes", modelOf(tensorOf(num(1, 1<<59), num(2, 15), str(8, "w"))), "graph.initializer[0].dims"},
		{"unknown type, data for no elements", modelOf(tensorOf(num(1, 0), num(2, 99), str(8, "w"), ld(9, []byte{1}))), "graph.initializer[0].raw_data"},
		{"unknown type, no data for elements", modelOf(tensorOf(num(1, 1), num(2, 99), str(8, "w"), ld(9))), "graph.initializer[0].raw_data"},
		{"unknown type, typed data for no elements", modelOf(tensorOf(num(1, 0), num(2, 99), str(8, "w"), num(7, 1))), "graph.initializer[0].int64_data"},
		{"half a float as the value of an attribute", attributed([]byte{2<<3 | 5, 0, 0}), "graph.node[1].attribute[0].f"},
		{"external: typed data too", outside(entry("location", "w"), f32(4, 1), f32(4, 2)), "graph.initializer[0].external_data.location"},
		{"external: unknown type, length 0 for elements", modelOf(tensorOf(num(1, 2), num(2, 99), str(8, "w"), entry("location", "w"), entry("length", "0"), num(14, 1))), "graph.initializer[0].external_data.length"},
	} {
		t.Run(tt.name, func(t *testing.T) { refused(t, tt.file, nil, format.ErrCorrupt, tt.field) })
	}
}

// refused opens a file that must not open.
func refused(t *testing.T, file []byte, o *format.Options, want error, field string) {
	t.Helper()
	f, err := OpenBytes(file, o)
	if err == nil {
		f.Close()
	}
	var e *format.Error
	if !errors.Is(err, want) || !errors.As(err, &e) || e.Field != field {
		t.Errorf("%v, want %v in %q", err, want, field)
	}
}

// TestTypedValues: a value of a list fits its element, and there are as many as were counted.
func TestTypedValues(t *testing.T) {
	for _, tt := range []struct {
		name string
		data []byte
	}{
		{"int8 300", cat(num(2, 3), num(5, 300))},
		{"int16 -40000", cat(num(2, 5), num(5, 1<<64-40000))},
		{"uint32 2^32", cat(num(2, 12), num(11, 1<<32))},
	} {
		v, err := open(t, modelOf(tensorOf(num(1, 1), str(8, "w"), tt.data))).Tensor("w")
		if err == nil {
			_, err = v.Bytes()
		}
		if !errors.Is(err, format.ErrCorrupt) {
			t.Errorf("%s: %v, want %v", tt.name, err, format.ErrCorrupt)
		}
	}
	s := protobuf.InMemory(cat(num(5, 1), num(5, 2)))
	for values := int64(1); values <= 3; values++ {
		h := head{message: s.All(), list: int32Data, typ: typeOf(3), values: values, size: values}
		if out, err := h.typed(s); values == 2 != (err == nil) {
			t.Errorf("%d values were counted, there are 2: %x, %v", values, out, err)
		}
	}
}

// TestLoadNoticesChange: typed data is decoded into the size that was checked.
func TestLoadNoticesChange(t *testing.T) {
	b := modelOf(tensorOf(num(1, 2), num(2, 3), str(8, "w"), ld(5, []byte{1, 2})))
	f := open(t, b)
	copy(b, modelOf(tensorOf(num(1, 1), num(2, 3), str(8, "w"), ld(5, []byte{0x81, 0})))) // one element
	v, err := f.Tensor("w")
	if err != nil {
		t.Fatal(err)
	}
	if data, err := v.Bytes(); !errors.Is(err, format.ErrCorrupt) {
		t.Errorf("%x, %v, want %v", data, err, format.ErrCorrupt)
	}
}

// TestStringsOfNumbers: Strings has the elements of strings alone.
func TestStringsOfNumbers(t *testing.T) {
	f := open(t, modelOf(weight("w"), tensorOf(num(1, 3), num(2, 99), str(8, "v"), ld(9, []byte{1, 2, 3}))))
	for _, name := range []string{"w", "v"} {
		if s, err := f.Strings(name); !errors.Is(err, format.ErrDType) {
			t.Errorf("%s: %q, %v, want %v", name, s, err, format.ErrDType)
		}
	}
}

// TestExternalToTheEnd: a length that is not given goes to the end of the file.
func TestExternalToTheEnd(t *testing.T) {
	testhost.NeedTimes(t)
	dir := t.TempDir()
	put := func(name string, b []byte) string {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, b, 0o666); err != nil {
			t.Fatal(err)
		}
		return path
	}
	put("w", make([]byte, 9))
	put("eight", []byte{1, 2, 3, 4, 5, 6, 7, 8})
	for _, tt := range []struct {
		name string
		file []byte
		err  error
		in   string // the last of the field
	}{
		{"a byte too many", outside(entry("location", "w")), format.ErrCorrupt, "external_data.length"},
		{"it fits", outside(entry("location", "a/../w"), entry("offset", "1")), nil, ""},
		{"a byte too few", outside(entry("location", "w"), entry("offset", "2")), format.ErrCorrupt, "external_data.length"},
		{"behind the end", outside(entry("location", "w"), entry("offset", "10")), format.ErrTruncated, "external_data.offset"},
		{"unknown type, none left", modelOf(tensorOf(num(1, 2), num(2, 99), str(8, "w"), entry("location", "w"), entry("offset", "9"), num(14, 1))), format.ErrCorrupt, "external_data.length"},
	} {
		f, err := Open(put("m.onnx", tt.file), nil)
		if err == nil {
			f.Close()
		}
		var e *format.Error
		if !errors.Is(err, tt.err) || err != nil && (!errors.As(err, &e) || !strings.HasSuffix(e.Field, tt.in)) {
			t.Errorf("%s: %v, want %v in %q", tt.name, err, tt.err, tt.in)
		}
	}

	// The file of an attribute's data is known before the graph is asked for.
	f, err := Open(put("m.onnx", attributed(num(20, 4), ld(5, num(1, 2), num(2, 1), entry("location", "eight"), num(14, 1)))), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	g, err := f.Graph()
	if err != nil {
		t.Fatal(err)
	}
	v, ok := g.Nodes[1].Attributes[0].Value.(tensor.View)
	if !ok {
		t.Fatalf("%T", g.Nodes[1].Attributes[0].Value)
	}
	if b, err := v.Bytes(); err != nil || !bytes.Equal(b, []byte{1, 2, 3, 4, 5, 6, 7, 8}) {
		t.Errorf("%x, %v", b, err)
	}
}

// TestDetect: what is taken for a model, and what only looks like one.
func TestDetect(t *testing.T) {
	version, producer := num(1, 8), str(2, "torch")
	for _, tt := range []struct {
		name string
		head []byte
		want bool
	}{
		{"version and producer", cat(version, producer), true},
		{"graph of a node", ld(7, ld(1, str(4, "Relu"))), true},
		{"cut within a length", cat(version, producer, []byte{7<<3 | 2, 0x80}), true},
		{"unfinished tag", cat(version, producer, []byte{0x80}), false},
		{"field of 2^31", cat(version, producer, varint(1<<34|2), varint(0)), false},
		{"version twice", cat(version, version, producer), false},
		{"version 0", cat(num(1, 0), producer), false},
		{"version 1001", cat(num(1, 1001), producer), false},
		{"version behind others", cat(producer, version), true},
		{"a field of a newer schema", cat(version, producer, num(99, 5), ld(7, num(3, 1))), true},
		{"a field of a newer schema, no version", cat(producer, num(99, 5)), false},
		{"control character", cat(version, str(2, "to\x01rch")), false},
		{"control character and operator sets", cat(version, str(2, "to\x01rch"), ld(8, num(2, 17))), true},
		{"control character and operator sets in front", cat(ld(8, num(2, 17)), str(2, "to\x01rch"), version), true},
		{"control character and empty operator sets", cat(version, ld(8), str(2, "to\x01rch")), false},
		{"control character and a graph", cat(version, str(2, "to\x01rch"), ld(7, ld(1))), true},
		{"version 0 and operator sets", cat(num(1, 0), ld(8, num(2, 17))), true},
		{"version 2^63 and operator sets", cat(num(1, 1<<63), ld(8, num(2, 17))), true},
		{"invalid UTF-8 behind operator sets", cat(version, ld(8, num(2, 17)), str(2, "to\xffrch")), true},
		{"invalid UTF-8 before operator sets", cat(version, str(2, "to\xffrch"), ld(8, num(2, 17))), false},
		{"invalid UTF-8", cat(version, str(2, "to\xffrch")), false},
		{"tab, return and line feed", cat(version, str(6, "a\tb\r\n")), true},
		{"graph of something else", cat(version, ld(7, num(3, 1))), false},
		{"graph with an unfinished tag", cat(version, ld(7, []byte{0x80})), false},
		{"operator set of something else", cat(version, producer, ld(8, num(3, 1))), false},
		{"2^41 bytes of metadata", cat(version, producer, varint(14<<3|2), varint(1<<41), str(1, "k")), false},
	} {
		if got := detect(tt.head, int64(len(tt.head))); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}

// TestTruncated: a file that was cut short is called that, wherever it ends, and a length that
// its message has no room for is not.
func TestTruncated(t *testing.T) {
	whole := cat(num(1, 8), ld(8, num(2, 17)), str(2, "me"), str(700, "later"), varint(701<<3|5), make([]byte, 4), num(5, 300), ld(7, reluNode, str(2, "g"), weight("w"), inOut))
	open(t, whole)
	for n := range whole {
		if _, err := OpenBytes(whole[:n:n], nil); !errors.Is(err, format.ErrTruncated) || errors.Is(err, format.ErrCorrupt) {
			t.Errorf("the first %d bytes: %v", n, err)
		}
	}
	for name, b := range map[string][]byte{
		"a node":       cat(num(1, 8), ld(7, []byte{1<<3 | 2, 100, 1})),
		"the raw data": cat(num(1, 8), ld(7, ld(5, []byte{9<<3 | 2, 100, 1}))),
	} {
		if _, err := OpenBytes(b, nil); !errors.Is(err, format.ErrCorrupt) || errors.Is(err, format.ErrTruncated) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestOpensWhatItWrites: detection takes a file for ONNX whatever its metadata say.
func TestOpensWhatItWrites(t *testing.T) {
	long := strings.Repeat("\x01", 300)
	for name, meta := range map[string]format.Metadata{
		"control characters":  {{Key: keyProducerName, Value: "a\x00\x1bb"}},
		"many of them":        {{Key: keyProducerName, Value: long}, {Key: keyProducerVersion, Value: long}, {Key: keyDomain, Value: long}, {Key: keyDocString, Value: long}},
		"version 0":           {{Key: keyIRVersion, Value: int64(0)}},
		"version -1":          {{Key: keyIRVersion, Value: int64(-1)}},
		"a large version":     {{Key: keyIRVersion, Value: int64(1 << 40)}, {Key: keyProducerName, Value: "\x7f"}},
		"an odd operator set": {{Key: keyOperatorSets, Value: json.RawMessage(`[{"domain":"` + strings.Repeat("d", 500) + `","version":0}]`)}, {Key: keyDomain, Value: "\x01"}},
		"empty texts":         {{Key: keyProducerName, Value: ""}, {Key: "", Value: ""}},
	} {
		t.Run(name, func(t *testing.T) {
			p := &format.Plan{Metadata: meta, Tensors: []tensor.Info{{Name: "w", DType: tensor.Uint8, Shape: tensor.Shape{1}}}}
			m, err := format.Open(written(t, p, nil), nil)
			if err != nil {
				t.Fatal(err)
			}
			defer m.Close()
			for _, e := range meta {
				if got, _ := m.Metadata().Get(e.Key); fmt.Sprint(got) != fmt.Sprint(e.Value) {
					t.Errorf("%s: %q, want %q", e.Key, got, e.Value)
				}
			}
		})
	}
	bare := cat(num(1, 0), ld(7, str(2, "g"), weight("w"))) // without operator sets
	m, err := format.OpenBytes(bare, &format.Options{Format: formatName})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	p, err := format.PlanOf(m)
	if err != nil {
		t.Fatal(err)
	}
	p.Metadata = append(p.Metadata, format.Entry{Key: keyDocString, Value: strings.Repeat("\x01", 300)})
	if _, err := NewWriter(io.Discard, p, nil); !errors.Is(err, format.ErrPlan) {
		t.Error(err)
	}
}

// claim is a file that is zeros behind its head, which must not be read far.
type claim []byte

func (c claim) ReadAt(p []byte, off int64) (int, error) {
	if len(p) > 1<<20 {
		return 0, errors.New("read")
	}
	clear(p)
	if off < int64(len(c)) {
		copy(p, c[off:])
	}
	return len(p), nil
}

// TestLongText: a text of more than a gigabyte is refused before it is read.
func TestLongText(t *testing.T) {
	c := claim(cat(num(1, 8), varint(2<<3|2), varint(driver.MaxStructure+1)))
	_, err := OpenReaderAt(c, int64(len(c))+driver.MaxStructure+1, nil)
	var e *format.Error
	if !errors.Is(err, format.ErrLimit) || !errors.As(err, &e) || e.Field != "producer_name" {
		t.Error(err)
	}
}

// TestMetadataTwice: what the neutral metadata have twice cannot be written.
func TestMetadataTwice(t *testing.T) {
	var h header
	for i, want := range []error{nil, format.ErrUnsupported} {
		if _, err := h.take(format.Entry{Key: "k", Value: "v"}); !errors.Is(err, want) {
			t.Errorf("the entry number %d: %v, want %v", i+1, err, want)
		}
	}
}
