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
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/internal/messages"
	"github.com/weightmap/weightmap/internal/opsets"
	"github.com/weightmap/weightmap/internal/testhost"
	"github.com/weightmap/weightmap/tensor"
)

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
	m := messages.Outermost(string(cat(num(5, 1), num(5, 2))))
	for values := int64(1); values <= 3; values++ {
		h := head{message: m, list: int32Data, typ: typeOf(3), values: values, size: values}
		if out, err := h.typed(); values == 2 != (err == nil) {
			t.Errorf("%d values were counted, there are 2: %x, %v", values, out, err)
		}
	}
}

// TestRanks: a tensor has at most 65,536 dims, and a sparse one too.
func TestRanks(t *testing.T) {
	dims := bytes.Repeat([]byte{1}, maxRank+1)
	values := ld(1, num(1, 1), num(2, 1), str(8, "s"), f32(4, 1))
	for name, tt := range map[string]struct {
		tensor []byte
		field  string
		err    error
	}{
		"dims":               {tensorOf(ld(1, dims), num(2, 2), str(8, "w"), ld(9, []byte{1})), "graph.initializer[0].dims", format.ErrLimit},
		"dims of sparse":     {ld(15, values, ld(2, num(1, 1), num(2, 7), num(7, 1)), ld(3, dims)), "graph.sparse_initializer[0].dims", format.ErrLimit},
		"indices of no dims": {ld(15, values, ld(2, num(2, 7), num(7, 1)), num(3, 5)), "graph.sparse_initializer[0].indices", format.ErrCorrupt},
		"indices of three":   {ld(15, values, ld(2, num(1, 1), num(1, 1), num(1, 1), num(2, 7), num(7, 1)), num(3, 5)), "graph.sparse_initializer[0].indices", format.ErrCorrupt},
	} {
		_, err := openBytes(modelOf(tt.tensor), nil)
		var e *tensor.Error
		if !errors.Is(err, tt.err) || !errors.As(err, &e) || e.Field != tt.field {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestLoadNoticesChange: typed data is decoded into the size that was checked.
func TestLoadNoticesChange(t *testing.T) {
	b := modelOfW(2, 3, ld(5, []byte{1, 2}))
	f := open(t, b)
	copy(b, modelOfW(1, 3, ld(5, []byte{0x81, 0}))) // one element
	v, err := f.Tensor("w")
	expect.OK(t, err)
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

// TestExternalAttribute: the file of an attribute's data is known before the graph is requested.
func TestExternalAttribute(t *testing.T) {
	testhost.NeedTimes(t)
	dir := t.TempDir()
	path := filepath.Join(dir, "m.onnx")
	model := attributed(num(20, 4), ld(5, num(1, 2), num(2, 1), entry("location", "eight"), num(14, 1)))
	expect.OK(t, errors.Join(os.WriteFile(path, model, 0o666), os.WriteFile(filepath.Join(dir, "eight"), []byte("12345678"), 0o666)))
	f, err := Open(path, nil)
	expect.OK(t, err)
	defer f.Close()
	g, err := f.Graph()
	expect.OK(t, err)
	v, _ := g.Nodes[1].Attributes[0].Value.(tensor.View)
	if b, err := v.Bytes(); err != nil || string(b) != "12345678" {
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
		if _, err := openBytes(whole[:n:n], nil); !errors.Is(err, format.ErrTruncated) || errors.Is(err, format.ErrCorrupt) {
			t.Errorf("the first %d bytes: %v", n, err)
		}
	}
	for name, b := range map[string][]byte{
		"a node":       cat(num(1, 8), ld(7, []byte{1<<3 | 2, 100, 1})),
		"the raw data": cat(num(1, 8), ld(7, ld(5, []byte{9<<3 | 2, 100, 1}))),
	} {
		if _, err := openBytes(b, nil); !errors.Is(err, format.ErrCorrupt) || errors.Is(err, format.ErrTruncated) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestOpensWhatItWrites: detection takes a file for ONNX whatever its metadata say.
func TestOpensWhatItWrites(t *testing.T) {
	long := strings.Repeat("\x01", 300)
	for name, meta := range map[string]schema.Metadata{
		"control characters":  {{Key: "producer_name", Value: "a\x00\x1bb"}},
		"many of them":        {{Key: "producer_name", Value: long}, {Key: "producer_version", Value: long}, {Key: "domain", Value: long}, {Key: "doc_string", Value: long}},
		"version 0":           {{Key: "ir_version", Value: int64(0)}},
		"version -1":          {{Key: "ir_version", Value: int64(-1)}},
		"a large version":     {{Key: "ir_version", Value: int64(1 << 40)}, {Key: "producer_name", Value: "\x7f"}},
		"an odd operator set": {{Key: opsets.Key, Value: json.RawMessage(`[{"domain":"` + strings.Repeat("d", 500) + `","version":0}]`)}, {Key: "domain", Value: "\x01"}},
		"empty texts":         {{Key: "producer_name", Value: ""}, {Key: "", Value: ""}},
	} {
		t.Run(name, func(t *testing.T) {
			p := &schema.Schema{Metadata: meta, Tensors: []tensor.Info{{Name: "w", DType: tensor.Uint8, Shape: tensor.Shape{1}}}}
			m, err := format.Open(written(t, p, nil), nil)
			expect.OK(t, err)
			defer m.Close()
			for _, e := range meta {
				if got, _ := expect.Got(t, m.Metadata).Get(e.Key); fmt.Sprint(got) != fmt.Sprint(e.Value) {
					t.Errorf("%s: %q, want %q", e.Key, got, e.Value)
				}
			}
		})
	}
	bare := cat(num(1, 0), ld(7, str(2, "g"), weight("w"))) // without operator sets
	m, err := format.OpenBytes(bare, &format.Options{Format: Format{}})
	expect.OK(t, err)
	defer m.Close()
	p, err := m.Schema()
	expect.OK(t, err)
	p.Metadata = append(p.Metadata, schema.Entry{Key: "doc_string", Value: strings.Repeat("\x01", 300)})
	expect.Refused(t, format.ErrSchema)(streamTo(io.Discard, p, nil))
}

// TestInvalidText: metadata that is no UTF-8 is a loss, which may be accepted.
func TestInvalidText(t *testing.T) {
	for _, e := range []schema.Entry{{Key: "k", Value: "\xff"}, {Key: "\xff", Value: "v"}, {Key: "producer_name", Value: "\xff"}} {
		p := &schema.Schema{Metadata: schema.Metadata{e}, Tensors: []tensor.Info{{Name: "w", DType: tensor.Uint8, Shape: tensor.Shape{1}, Size: 1}}}
		expect.Refused(t, format.ErrCorrupt, e.Key)(streamTo(io.Discard, p, nil))
		lossy := &format.WriteOptions{AcceptLoss: []string{string(schema.LossMetadata)}}
		_, err := streamTo(io.Discard, p, lossy)
		expect.OK(t, err)
	}
}

// TestLongText: a text of more than a gigabyte is refused before it is read.
func TestLongText(t *testing.T) {
	c := append(cat(num(1, 8), varint(2<<3|2), varint(driver.MaxStructure+1)), make([]byte, 1<<20)...) // there is no more
	_, err := openReaderAt(bytes.NewReader(c), int64(len(c))+driver.MaxStructure+1, nil)
	var e *tensor.Error
	if !errors.Is(err, format.ErrLimit) || !errors.As(err, &e) || e.Field != "producer_name" {
		t.Error(err)
	}
}

// TestMetadataTwice: what the neutral metadata have twice cannot be written.
func TestMetadataTwice(t *testing.T) {
	h := header{file: &original{}, keys: map[string]bool{}}
	for i, want := range []error{nil, format.ErrUnsupported} {
		if err := h.take(schema.Entry{Key: "k", Value: "v"}); !errors.Is(err, want) {
			t.Errorf("%d: %v", i+1, err)
		}
	}
}

// TestExternalDataOfStream: a stream has no directory for external data.
func TestExternalDataOfStream(t *testing.T) {
	beside := &format.WriteOptions{ExternalFrom: 1}
	expect.Refused(t, format.ErrSchema, "external data of a stream")(streamTo(io.Discard, &schema.Schema{}, beside))
}
