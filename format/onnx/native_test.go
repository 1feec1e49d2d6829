package onnx

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/convert"
	_ "github.com/weightmap/weightmap/format/npy" // a format that has none of this
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/internal/onnxgraph"
	"github.com/weightmap/weightmap/internal/testhost"
	"github.com/weightmap/weightmap/tensor"
	"google.golang.org/protobuf/encoding/protowire"
)

// Parts of models, by the numbers of onnx.proto.
var (
	head9     = cat(num(1, 9), ld(8, num(2, 17)))
	reluNode  = ld(1, str(1, "x"), str(1, "w"), str(2, "y"), str(4, "PRelu"))
	inOut     = cat(ld(11, str(1, "x"), floatType), ld(12, str(1, "y"), floatType))
	floatType = ld(2, ld(1, num(1, 1), ld(2, ld(1, num(1, 2)))))
	unknown   = cat(num(500, 7), str(501, "later"))
	prop      = func(field int, key, value string, more ...byte) []byte {
		return ld(field, str(1, key), str(2, value), more)
	}
	function = ld(25, str(1, "f"), str(4, "a"), str(5, "b"), ld(7, str(1, "a"), str(2, "b"), str(4, "Relu"), str(6, "doc")), ld(9, num(2, 17)), str(10, "mine"))
	training = ld(20, ld(2, ld(1, str(1, "w"), str(2, "w2"), str(4, "Identity")), str(2, "step")), prop(4, "w", "w2"))
)

// nativeModel is a model with the parts in the graph, and others after it.
func nativeModel(graph []byte, model ...[]byte) []byte {
	return cat(head9, ld(7, reluNode, str(2, "g"), weight("w"), inOut, graph), cat(model...))
}

// node is a node of its own, with more fields.
func nodeWith(parts ...[]byte) []byte { return ld(1, str(2, "out"), str(4, "Op"), cat(parts...)) }

// nativeCases are models with one thing each that other formats have no place for, and what
// it is called.
func nativeCases() []nativeCase {
	typ := func(b ...[]byte) []byte { return ld(11, str(1, "v"), ld(2, b...)) }
	elem := func(code uint64) []byte { return typ(ld(1, num(1, code), ld(2))) }
	attr := func(b ...[]byte) []byte { return nodeWith(ld(5, cat(str(1, "a"), cat(b...)))) }
	sub := ld(6, ld(1, str(1, "c"), str(2, "o"), str(4, "Identity")), weight("c"), ld(12, str(1, "o")), ld(15, ld(1, num(1, 0), num(2, 1), str(8, "s"))))
	cases := []nativeCase{
		{"functions", nativeModel(nil, function, function), "functions"},
		{"training", nativeModel(nil, training), "training_info"},
		{"configuration", nativeModel(nil, ld(26, str(1, "two"), num(2, 2))), "configuration"},
		{"fields of a later model", nativeModel(nil, unknown), "unknown_fields"},
		{"fields of a later graph", nativeModel(unknown), "unknown_fields"},
		{"fields of a later node", nativeModel(nodeWith(unknown)), "unknown_fields"},
		{"fields of a later tensor", nativeModel(tensorOf(num(1, 1), unknown, num(2, 1), str(8, "l"), ld(9, make([]byte, 4)))), "unknown_fields"},
		{"fields of later metadata", nativeModel(nil, prop(14, "k", "v", unknown...)), "unknown_fields"},
		{"fields of a later operator set", nativeModel(nil, ld(8, str(1, "other"), num(2, 3), unknown)), "unknown_fields"},
		{"metadata named as a field", nativeModel(nil, prop(14, "producer_name", "me"), prop(14, "domain", "d")), ""},
		{"texts of the model", nativeModel(nil, str(2, "me"), str(3, ""), str(4, "d"), num(5, 0), str(6, "doc")), ""},
		{"doc of the graph", nativeModel(str(10, "doc")), ""},
		{"doc of a node", nativeModel(nodeWith(str(6, "doc"))), ""},
		{"doc of an attribute", nativeModel(attr(num(3, 1), num(20, 2), str(13, "doc"))), ""},
		{"doc of a tensor", nativeModel(tensorOf(num(1, 1), num(2, 1), str(8, "l"), str(12, "doc"), ld(9, make([]byte, 4)))), ""},
		{"doc of an input", nativeModel(ld(11, str(1, "v"), str(3, "doc"))), ""},
		{"value info", nativeModel(ld(13, str(1, "m"), floatType)), "value_info"},
		{"quantization annotation", nativeModel(ld(14, str(1, "x"), prop(2, "SCALE_TENSOR", "w"))), "quantization_annotation"},
		{"metadata of the graph", nativeModel(prop(16, "k", "v")), ""},
		{"metadata of a node", nativeModel(nodeWith(prop(9, "k", "v"))), ""},
		{"metadata of a tensor", nativeModel(tensorOf(num(1, 1), num(2, 1), str(8, "l"), ld(9, make([]byte, 4)), prop(16, "k", "v"))), ""},
		{"overload", nativeModel(nodeWith(str(8, "second"))), "overload"},
		{"devices", nativeModel(nodeWith(ld(10, str(1, "two"), ld(2, str(1, "w"), num(2, 0))))), "device_configurations"},
		{"an unknown operator", nativeModel(nodeWith(str(7, "com.example"))), ""},
		{"an empty attribute", nativeModel(attr()), ""},
		{"an attribute with a type alone", nativeModel(attr(num(20, 7))), ""},
		{"unpacked numbers", nativeModel(attr(num(8, 1), num(8, 2), num(20, 7))), ""},
		{"a type as attribute", nativeModel(attr(ld(14, ld(1, num(1, 1))), num(20, 13))), "tp"},
		{"a sparse attribute", nativeModel(attr(num(20, 11), ld(22, ld(1, num(1, 0), num(2, 1)), num(3, 4)))), "sparse_tensor"},
		{"a reference to an attribute", nativeModel(attr(str(21, "outer"), num(20, 1))), "ref_attr_name"},
		{"a string as attribute", nativeModel(attr(num(20, 4), ld(5, num(1, 1), num(2, 8), str(6, "text")))), ""},
		{"a subgraph with initializers", nativeModel(attr(num(20, 5), sub)), "subgraph_initializers"},
		{"a sequence", nativeModel(typ(ld(4, ld(1, ld(1, num(1, 1)))))), "sequence_type"},
		{"a map", nativeModel(typ(ld(5, num(1, 7), ld(2, ld(1, num(1, 1)))))), "map_type"},
		{"an optional", nativeModel(typ(ld(9, ld(1, ld(1, num(1, 1)))))), "optional_type"},
		{"a sparse input", nativeModel(typ(ld(8, num(1, 1)))), "sparse_tensor_type"},
		{"an opaque input", nativeModel(typ(ld(7, str(1, "d")))), "opaque_type"},
		{"a denotation", nativeModel(typ(ld(1, num(1, 1)), str(6, "IMAGE"))), "denotation"},
		{"strings", nativeModel(tensorOf(num(1, 2), num(2, 8), str(6, "ab"), str(6, ""), str(8, "text"))), ""},
		{"a sparse tensor", nativeModel(ld(15, ld(1, num(1, 1), num(2, 1), str(8, "s"), ld(9, make([]byte, 4))), ld(2, num(1, 1), num(2, 7), num(7, 3)), num(3, 4))), ""},
		{"a later type", nativeModel(tensorOf(num(1, 2), num(2, 99), str(8, "l"), ld(9, []byte("abc")))), ""},
		{"a later type with a large code", nativeModel(tensorOf(num(1, 2), num(2, 1<<20), str(8, "l"), ld(9, []byte("abc")))), ""},
		{"a type of a negative code", nativeModel(tensorOf(num(1, 2), num(2, negative), str(8, "l"), ld(9, []byte("abc")))), ""},
		{"a later type in a list", nativeModel(tensorOf(num(1, 2), num(2, 99), str(8, "l"), num(5, 1), num(5, 300))), ""},
		{"int4", nativeModel(tensorOf(num(1, 3), num(2, 22), str(8, "l"), ld(9, []byte{1, 2}))), ""},
		{"complex128", nativeModel(tensorOf(num(1, 1), num(2, 15), str(8, "l"), ld(9, make([]byte, 16)))), ""},
	}
	for _, code := range []uint64{8, 15, 18, 20, 21, 22, 23, 24, 25, 26, 99} {
		cases = append(cases, nativeCase{fmt.Sprintf("input of type %d", code), nativeModel(elem(code)), ""})
	}
	return cases
}

type nativeCase struct {
	name  string
	model []byte
	kind  string // "" for what other formats refuse by another name
}

// fieldsOf shows a model field by field, in the order of their numbers: what is not ordered by
// protocol buffers does not count, nor where tensors have their data.
func fieldsOf(t *testing.T, b []byte, path string) []string {
	t.Helper()
	type field struct {
		num  protowire.Number
		text []string
	}
	var all []field
	for len(b) > 0 {
		num, typ, n := protowire.ConsumeTag(b)
		v := protowire.ConsumeFieldValue(num, typ, b[max(n, 0):])
		if n < 0 || v < 0 {
			t.Fatalf("%s: bad field %d", path, num)
		}
		value := b[n : n+v]
		b = b[n+v:]
		here := fmt.Sprintf("%s.%d", path, num)
		switch {
		case here == ".7" || here == ".7.5":
			value, _ = protowire.ConsumeBytes(value)
			all = append(all, field{num, append([]string{here}, fieldsOf(t, value, here)...)})
		case here == ".7.5.2": // which is repeated to fill a gap
			code, _ := protowire.ConsumeVarint(value)
			value = protowire.AppendVarint(nil, code)
			if !slices.ContainsFunc(all, func(f field) bool { return f.num == num }) {
				all = append(all, field{num, []string{fmt.Sprintf("%s: %x", here, value)}})
			}
		default:
			all = append(all, field{num, []string{fmt.Sprintf("%s: %q", here, value)}})
		}
	}
	slices.SortStableFunc(all, func(a, b field) int { return cmp.Compare(a.num, b.num) })
	var out []string
	for _, f := range all {
		out = append(out, f.text...)
	}
	return out
}

// converted writes a copy of a model.
func converted(t *testing.T, b []byte, o *convert.Options) (string, *convert.Report, error) {
	t.Helper()
	m, err := format.OpenBytes(b, &format.Options{Format: Format{}})
	expect.OK(t, err)
	defer m.Close()
	path := filepath.Join(t.TempDir(), "out.onnx")
	r, err := convert.Model(t.Context(), m, path, o)
	return path, r, err
}

// TestKept: a copy has every field of the model, known or not.
func TestKept(t *testing.T) {
	for _, c := range nativeCases() {
		t.Run(c.name, func(t *testing.T) {
			path, _, err := converted(t, c.model, &convert.Options{Verify: true})
			expect.OK(t, err)
			expect.Equal(t, fieldsOf(t, c.model, ""), fieldsOf(t, expect.Read(t, path), ""))
			a, b := open(t, c.model), open(t, expect.Read(t, path))
			one, err := a.Native()
			expect.OK(t, err)
			other, err := b.Native()
			if diff := gocmp.Diff(one.Kinds, other.Kinds); err != nil || diff != "" {
				t.Errorf("%v: kinds (-model +copy):\n%s", err, diff)
			}
			expect.Equal(t, docsOf(t, c.model), docsOf(t, expect.Read(t, path)))
			if got := kindNames(one); c.kind != "" && !slices.Contains(got, c.kind) {
				t.Errorf("kinds %q, want %q", got, c.kind)
			}
		})
	}
}

func kindNames(n *schema.Native) (names []string) {
	for _, k := range n.Kinds {
		names = append(names, k.Name)
	}
	return names
}

// annotated is a model of tensors that much else in it names.
type annotated struct {
	w, l    string // names; no l for ""
	code    uint64
	untyped bool // without value_info
	graph   bool
}

func (a annotated) bytes() []byte {
	var g, data []byte
	data = make([]byte, 8)
	if a.code == 10 {
		data = data[:4]
	}
	tensor := func(name string, more ...[]byte) []byte {
		return tensorOf(num(1, 2), cat(more...), num(2, a.code), str(8, name), ld(9, data))
	}
	if a.graph {
		g = cat(ld(1, str(1, "x"), str(1, a.w), str(2, "y"), str(4, "PRelu"), str(6, "doc"), ld(10, str(1, "two"), ld(2, str(1, a.w)))), str(2, "g"), str(10, "doc"))
		if !a.untyped {
			g = cat(g, ld(13, str(1, a.w), floatType), ld(13, str(1, "m"), floatType))
		}
		g = cat(g, ld(14, str(1, "x"), prop(2, "SCALE_TENSOR", a.w)), ld(14, str(1, "m")), inOut)
		if a.l != "" {
			g = cat(g, ld(14, str(1, a.l)))
		}
	}
	g = cat(g, tensor(a.w))
	if a.l != "" {
		g = cat(g, tensor(a.l, str(12, "doc of l")))
	}
	training := ld(20, ld(2, ld(1, str(1, a.w), str(2, "w2"), str(4, "Identity")), str(2, "step")), prop(4, a.w, "w2"))
	f := ld(25, str(1, "f"), str(4, "w"), str(5, "b"), ld(7, str(1, "w"), str(2, "b"), str(4, "Relu")), str(10, "mine"))
	if !a.graph {
		training, g = nil, cat(str(2, "graph"), g)
	}
	return cat(num(1, 9), ld(8, num(2, 17)), ld(7, g), training, f)
}

// TestFollows: what only ONNX has follows the tensors of a schema, or is lost and listed.
func TestFollows(t *testing.T) {
	whole := annotated{w: "w", l: "l", code: 1, graph: true}
	change := func(f func(a *annotated)) []byte {
		a := whole
		f(&a)
		return a.bytes()
	}
	without := func(name string) func(tensor.Info) bool { return func(i tensor.Info) bool { return i.Name != name } }
	for _, c := range []struct {
		name string
		o    convert.Options
		lost []string
		want []byte
	}{
		{"nothing changes", convert.Options{}, nil, whole.bytes()},
		{"renamed", convert.Options{Rename: func(s string) string { return "new." + s }}, nil, change(func(a *annotated) { a.w, a.l = "new.w", "new.l" })},
		{"names swapped", convert.Options{Rename: func(s string) string { return map[string]string{"w": "l", "l": "w"}[s] }}, nil, change(func(a *annotated) { a.w, a.l = "l", "w" })},
		{"a tensor is gone", convert.Options{Keep: without("l")}, []string{"native:quantization_annotation"}, change(func(a *annotated) { a.l = "" })},
		{"other dtypes", convert.Options{DType: tensor.Float16}, []string{"native:value_info"}, change(func(a *annotated) { a.code, a.untyped = 10, true })},
		{"the graph is gone", convert.Options{Keep: without("w")}, []string{"graph", "native:device_configurations", "native:quantization_annotation", "native:training_info", "native:value_info"},
			annotated{w: "l", code: 1}.bytes()},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := c.o
			_, _, err := converted(t, whole.bytes(), &o)
			if (err == nil) != (c.lost == nil) {
				t.Errorf("without -lossy: %v", err)
			}
			o = c.o
			o.Lossy, o.Verify = true, true
			path, r, err := converted(t, whole.bytes(), &o)
			expect.OK(t, err)
			var lost []string
			for _, l := range r.Losses {
				lost = append(lost, l.Item())
			}
			slices.Sort(lost)
			expect.Equal(t, c.lost, lost)
			got := slices.DeleteFunc(fieldsOf(t, expect.Read(t, path), ""), func(s string) bool { return strings.Contains(s, "doc of l") })
			want := slices.DeleteFunc(fieldsOf(t, c.want, ""), func(s string) bool { return strings.Contains(s, "doc of l") })
			expect.Equal(t, want, got)
		})
	}
}

// TestListedAlone: bytes of a type that has no dtype mean nothing without the file they are of.
func TestListedAlone(t *testing.T) {
	m := open(t, nativeModel(tensorOf(num(1, 1), num(2, 8), str(6, "ab"), str(8, "text"))))
	for name, change := range map[string]func(p *schema.Schema){
		"no native":         func(p *schema.Schema) { p.Native = nil },
		"of another format": func(p *schema.Schema) { p.Native.Format, p.Native.Kinds = "mag", nil },
		"another tensor":    func(p *schema.Schema) { p.Tensors[1].Name = "other" },
		"another type":      func(p *schema.Schema) { p.Tensors[1].Encoding = &tensor.Encoding{Name: "type 99"} },
		"a foreign type": func(p *schema.Schema) {
			p.Tensors[1].Name, p.Tensors[1].Encoding = "other", &tensor.Encoding{Name: "Q4_0"}
		},
		"broken": func(p *schema.Schema) { p.Native.Raw = []byte{0x3a, 9, 1} },
	} {
		t.Run(name, func(t *testing.T) {
			p, err := m.Schema()
			expect.OK(t, err)
			change(p)
			expect.Refused(t, format.ErrSchema)(streamTo(&bytes.Buffer{}, p, nil))
		})
	}
}

// TestSparseRenamed: the name of a sparse tensor is within its bytes.
func TestSparseRenamed(t *testing.T) {
	m := open(t, modelOf(sparseOf(ld(1, num(1, 1), num(2, 1), str(8, "s"), f32(4, 1)))))
	p, err := m.Schema()
	expect.OK(t, err)
	p.Tensors[0].Name, p.Native.Renamed = "new", map[string]string{"new": "s"}
	if _, err := streamTo(&bytes.Buffer{}, p, nil); !errors.Is(err, format.ErrUnsupported) || !strings.Contains(err.Error(), "keeps its name") {
		t.Error(err)
	}
}

// TestInlined: data beside the model of tensors inside of it is in the copy, which may be
// elsewhere.
func TestInlined(t *testing.T) {
	value := func(inside bool) []byte {
		data := cat(entry("location", "c.bin"), entry("offset", "4"), entry("length", "8"), num(14, 1))
		if inside {
			data = ld(9, []byte("456789ab"))
		}
		return cat(num(1, 2), num(2, 1), str(8, "c"), str(12, "doc"), data)
	}
	model := func(inside bool) []byte {
		constant := ld(1, str(2, "c"), str(4, "Constant"), ld(5, str(1, "value"), num(20, 4), ld(5, value(inside))))
		branch := ld(5, str(1, "then_branch"), num(20, 5), ld(6, ld(5, value(inside)), ld(12, str(1, "c"))))
		f := ld(25, str(1, "f"), ld(7, str(2, "c"), str(4, "Constant"), ld(5, str(1, "value"), num(20, 4), ld(5, value(inside)))))
		return nativeModel(cat(constant, ld(1, str(2, "o"), str(4, "If"), branch)), f)
	}
	dir := t.TempDir()
	in, out := filepath.Join(dir, "m.onnx"), filepath.Join(t.TempDir(), "m.onnx")
	for path, b := range map[string][]byte{in: model(false), filepath.Join(dir, "c.bin"): []byte("0123456789abcdef")} {
		expect.OK(t, os.WriteFile(path, b, 0o666))
	}
	testhost.RoundTimes(t, dir)
	if _, err := convert.File(t.Context(), in, out, nil); err != nil {
		t.Fatal(err)
	}
	expect.Equal(t, fieldsOf(t, model(true), ""), fieldsOf(t, expect.Read(t, out), ""))
	expect.OK(t, os.Remove(filepath.Join(dir, "c.bin")))
	m, err := format.Open(in, &format.Options{MaxMemory: 4000})
	expect.OK(t, err)
	defer m.Close()
	if _, err := m.Native(); err == nil {
		t.Error("data that is not there")
	}
	alone := open(t, attributed(ld(5, num(1, 2), num(2, 1), entry("location", "c.bin"), num(14, 1)))) // bytes have no directory
	if _, err := alone.Native(); err == nil {
		t.Error("data that is nowhere")
	}
}

// TestNativeMemory: Options.MaxMemory bounds the messages in memory, also fields that no table has,
// and what Native copies.
func TestNativeMemory(t *testing.T) {
	model := nativeModel(str(600, strings.Repeat("x", 1<<20)))
	expect.Refused(t, format.ErrLimit, "opening")(openBytes(model, &format.Options{MaxMemory: 1 << 19}))
	f, err := openBytes(model, &format.Options{MaxMemory: 5 << 19})
	expect.OK(t, err)
	defer f.Close()
	expect.Refused(t, format.ErrLimit, "a copy")(f.Native())
}

// TestInlinedTooLarge: data that moves into the model has a limit.
func TestInlinedTooLarge(t *testing.T) {
	testhost.NeedTimes(t)
	dir := t.TempDir()
	const n = onnxgraph.MaxTensor + 1
	path := filepath.Join(dir, "w.bin")
	if err := errors.Join(os.WriteFile(path, nil, 0o666), os.Truncate(path, n)); err != nil {
		t.Skip("the file system has no room for a hole: ", err)
	}
	constant := ld(5, num(1, n), num(2, 2), entry("location", "w.bin"), num(14, 1))
	o := &format.Options{Dir: dir, MaxMemory: 4 << 30} // the view of a constant counts
	f, err := openBytes(attributed(constant, num(20, 4)), o)
	expect.OK(t, err)
	defer f.Close()
	expect.Refused(t, format.ErrLimit)(f.Native())
}
