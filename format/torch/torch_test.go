package torch

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/internal/memory"
	"github.com/weightmap/weightmap/tensor"
)

// seen is a tensor in a form that tests compare.
type seen struct {
	Name  string
	DType string
	Shape tensor.Shape
	Data  string
	Copy  bool
}

// tensorsOf returns the tensors of a model.
func tensorsOf(t *testing.T, m *format.Model) (list []seen) {
	t.Helper()
	for name, v := range m.Tensors() {
		info := v.Info()
		c, err := v.Clone()
		expect.OK(t, err)
		b, err := c.Bytes()
		expect.OK(t, err)
		list = append(list, seen{name, info.TypeName(), info.Shape, string(b), !v.ZeroCopy()})
	}
	return list
}

func f32(name string, copied bool, data []byte, shape ...int64) seen {
	return seen{name, "float32", shape, string(data), copied}
}

// TestRead opens files that are assembled opcode by opcode.
func TestRead(t *testing.T) {
	six := store("Float", "0", 6)
	for _, tt := range []struct {
		name  string
		file  []byte
		want  []seen
		meta  schema.Metadata
		notes string // substring of a note
	}{
		{name: "nested, with metadata", file: saved(t, pickled(dictOf(
			str("epoch"), num(-3), str("loss"), float(0.5), str("name"), str("é"), str("best"), "\x88", str("none"), "N",
			str("state_dict"), dictOf(str("w"), tensorOf(six, 0, nums(6), nums(1))),
			str("list"), "]("+tensorOf(six, 1, nums(2), nums(1))+dictOf(num(7), tensorOf(six, 5, nums(), nums()))+"e")), floats(6)),
			want: []seen{f32("state_dict.w", false, floats(6), 6), f32("list.0", false, floats(6)[4:12], 2), f32("list.1.7", false, floats(6)[20:], tensor.Shape{}...)},
			meta: schema.Metadata{{Key: "epoch", Value: int64(-3)}, {Key: "loss", Value: 0.5}, {Key: "name", Value: "é"}, {Key: "best", Value: true}}, notes: `1 of type None, the first at "none"`},
		{name: "strides", file: saved(t, pickled(tup(
			tensorOf(six, 0, nums(3, 2), nums(1, 3)), tensorOf(six, 1, nums(2), nums(3)), tensorOf(six, 2, nums(2, 2), nums(0, 1)), tensorOf(six, 0, nums(0, 5), nums(9, 9)), tensorOf(six, 2, nums(1, 2), nums(77, 1)))), floats(6)),
			want: []seen{f32("0", true, floatsOf(0, 3, 1, 4, 2, 5), 3, 2), f32("1", true, floatsOf(1, 4), 2), f32("2", true, floatsOf(2, 3, 2, 3), 2, 2), f32("3", false, nil, 0, 5), f32("4", false, floatsOf(2, 3), 1, 2)}},
		{name: "parameters", file: saved(t, pickled(dictOf(
			str("p"), get("torch._utils", "_rebuild_parameter")+tup(tensorOf(six, 0, nums(6), nums(1)), "\x88", hooks)+"R",
			str("q"), get("torch._utils", "_rebuild_parameter_with_state")+tup(tensorOf(six, 0, nums(1), nums(1)), "\x88", hooks, "}")+"R")), floats(6)),
			want: []seen{f32("p", false, floats(6), 6), f32("q", false, floats(1), 1)}},
		{name: "version 3", file: saved(t, pickled(get("torch._utils", "_rebuild_tensor_v3"), tup(
			tup(str("storage"), get("torch.storage", "UntypedStorage"), str("0"), str("cpu"), num(4))+"Q", num(1), nums(1), nums(1), "\x89", hooks, get("torch", "uint16")), "R"), []byte{1, 2, 3, 4}),
			want: []seen{{"tensor", "uint16", tensor.Shape{1}, "\x03\x04", false}}},
		{name: "listed type", file: saved(t, pickled(tensorOf(store("ComplexDouble", "0", 1), 0, nums(1), nums(1))), make([]byte, 16)),
			want: []seen{{"tensor", "complex128", tensor.Shape{1}, string(make([]byte, 16)), false}}},
		{name: "state of an OrderedDict", file: saved(t, pickled(hooks, "(", str("w"), tensorOf(six, 0, nums(6), nums(1)), "u", dictOf(str("_metadata"), hooks), "b"), floats(6)),
			want: []seen{f32("w", false, floats(6), 6)}},
		{name: "numpy scalars", file: saved(t, pickled(dictOf(
			str("f"), get("numpy.core.multiarray", "scalar")+tup(get("numpy", "dtype")+tup(str("f4"), "\x89", "\x88")+"R"+tup(num(3), str("<"), "N", "N", "N")+"b", get("_codecs", "encode")+tup(str("\x00\x00\u00c0?"), str("latin1"))+"R")+"R",
			str("i"), get("numpy._core.multiarray", "scalar")+tup(get("numpy", "dtype")+tup(str("i2"), "\x89", "\x88")+"R"+tup(num(3), str(">"))+"b", "C\x02\xff\xfe")+"R"))),
			meta: schema.Metadata{{Key: "f", Value: 1.5}, {Key: "i", Value: int64(-2)}}},
		{name: "sizes, devices, dtypes", file: saved(t, pickled(dictOf(
			str("s"), get("torch", "Size")+tup(nums(2, 3))+"R", str("d"), get("torch", "device")+tup(str("cuda"), num(1))+"R", str("t"), get("torch", "float16")))),
			meta: schema.Metadata{{Key: "s.0", Value: int64(2)}, {Key: "s.1", Value: int64(3)}, {Key: "d", Value: "cuda:1"}}, notes: "1 of type torch.float16"},
		{name: "protocol 4", file: saved(t, "\x80\x04\x95\x05\x00\x00\x00\x00\x00\x00\x00}\x94\x8c\x01w"+
			"\x8c\x0ctorch._utils\x8c\x12_rebuild_tensor_v2\x93("+six+"K\x00K\x06\x85K\x01\x85\x89"+hooks+"tRs.", floats(6)),
			want: []seen{f32("w", false, floats(6), 6)}},
		{name: "memo", file: saved(t, pickled("}q\x00(", str("k"), "q\x01", tensorOf(six, 0, nums(1), nums(1)), "r\x02\x01\x00\x00", str("l"), "j\x02\x01\x00\x00", str("m"), "h\x01", "u"), floats(6)),
			want: []seen{f32("k", false, floats(1), 1), f32("l", false, floats(1), 1)}, meta: schema.Metadata{{Key: "m", Value: "k"}}},
		{name: "legacy", file: legacy(pickled(dictOf(str("a"), tensorOf(oldStore("Float", "k1", 6, "N"), 0, nums(2, 3), nums(3, 1)), str("b"), tensorOf(oldStore("Long", "k0", 1, "N"), 0, nums(1), nums(1)),
			str("v"), tensorOf(oldStore("Float", "k1", 6, tup(str("v"), num(4), num(2))), 1, nums(1), nums(1)))),
			[]string{"k0", "k1"}, []int64{1, 6}, []byte{5, 0, 0, 0, 0, 0, 0, 0}, floats(6)),
			want: []seen{f32("a", true, floats(6), 2, 3), {"b", "int64", tensor.Shape{1}, "\x05\x00\x00\x00\x00\x00\x00\x00", true}, f32("v", true, floatsOf(5), 1)}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, how := range []string{"bytes", "reader", "file"} {
				m, err := openBytes(tt.file, nil)
				switch how {
				case "reader":
					m, err = openReaderAt(bytes.NewReader(tt.file), int64(len(tt.file)), nil)
				case "file":
					path := filepath.Join(t.TempDir(), "tensor.pt") // the name of a tensor without one
					expect.OK(t, os.WriteFile(path, tt.file, 0o600))
					f, openErr := os.Open(path)
					expect.OK(t, openErr)
					m, err = openFile(f, 0, -1, nil)
					f.Close()
				}
				expect.OK(t, err)
				defer m.Close()
				if _, err := m.Verify(t.Context(), nil); err != nil {
					t.Error(err)
				}
				got := tensorsOf(t, m)
				for i := range got {
					if i < len(tt.want) && (how == "reader" || tt.name == "legacy" || !memory.LittleEndian) { // alignment depends on lengths
						got[i].Copy = tt.want[i].Copy
					}
				}
				if d := cmp.Diff(tt.want, got); d != "" {
					t.Errorf("%s: %s", how, d)
				}
				if d := cmp.Diff(tt.meta, expect.Got(t, m.Metadata)); d != "" {
					t.Errorf("%s: %s", how, d)
				}
				if notes := strings.Join(m.Notes(), "; "); !strings.Contains(notes, tt.notes) {
					t.Errorf("notes %q, want %q", notes, tt.notes)
				}
			}
		})
	}
}

// mostName is the length of the longest name.
const mostName = 1 << 16

// TestRefused opens files that torch.save never writes and files that would run a program.
func TestRefused(t *testing.T) {
	six := store("Float", "0", 6)
	one := func(parts ...string) []byte { return saved(t, pickled(parts...), floats(6)) }
	deep := strings.Repeat("](", 3000) + strings.Repeat("e", 3000)
	plain := entryOf{"m/data.pkl", []byte(pickled("}")), false}
	name := strings.Repeat("n", mostName)
	type fault struct {
		name string
		file []byte
		text string
	}
	for want, faults := range map[error][]fault{
		format.ErrUnsupported: {
			{"EXT1", one("\x82\x01"), "extension registry"},
			{"EXT2", one("\x83\x01\x00"), "extension registry"},
			{"EXT4", one("\x84\x01\x00\x00\x00"), "extension registry"},
			{"NEXT_BUFFER", one("\x97"), "a buffer that is not in the file"},
			{"READONLY_BUFFER", one("}\x98"), "a buffer that is not in the file"},
			{"no opcode", one("\xff"), "0xff is no opcode"},
			{"protocol 6", saved(t, "\x80\x06}."), "protocol 6"},
			{"strange byte order", archived(t, entryOf{"m/data.pkl", []byte(pickled("}")), false}, entryOf{"m/byteorder", []byte("middle"), false}), "middle"},
			{"a long version", archived(t, plain, entryOf{"m/version", bytes.Repeat([]byte("3"), 65), false}), ": version: "},
		},
		format.ErrCorrupt: {
			{"nested REDUCE", one(get("torch", "Size"), get("torch", "Size"), tup(nums(1)), "RR"), "which is no tuple"},
			{"REDUCE of no function", one(str("x"), ")", "R"), "it calls a value of type \"str\""},
			{"BUILD of a string", one(str("x"), "}b"), "it sets the state of a value of type \"str\""},
			{"BUILD of a class", one(get("os", "system"), "}b"), "it sets the state of a value of type \"os.system\""},
			{"values left", one("}}"), "left"},
			{"bytes behind it", saved(t, pickled("}")+"x"), "follow"},
			{"pop of nothing", one("0"), "missing"},
			{"pop below a mark", one("}(0", "0"), ""},
			{"APPEND to a dict", one("}Na"), `type "dict"`},
			{"odd SETITEMS", one("}(Nu"), "1 keys"},
			{"unknown memo", one("h\x05"), "remembered"},
			{"name of a global without end", one("c", strings.Repeat("a", 5000)), "name"},
			{"string that is no UTF-8", one("X\x01\x00\x00\x00\xff"), "UTF-8"},
			{"beyond the storage", one(tensorOf(six, 1, nums(2, 3), nums(3, 1))), "element 6 of a storage of 6"},
			{"storage that is missing", one(tensorOf(store("Float", "7", 6), 0, nums(1), nums(1))), "missing"},
			{"persistent id of a string", one(tensorOf(str("x")+"Q", 0, nums(1), nums(1))), `type "str"`},
			{"persistent id of three", one(tensorOf(tup(str("storage"), "N", "N")+"Q", 0, nums(1), nums(1))), "persistent id"},
			{"persistent id with a module", one(tensorOf(tup(str("module"), get("torch", "FloatStorage"), str("0"), str("cpu"), num(6))+"Q", 0, nums(1), nums(1))), "persistent id"},
			{"huge count", one(tensorOf(tup(str("storage"), get("torch", "DoubleStorage"), str("0"), str("cpu"), "\x8a\x08\xff\xff\xff\xff\xff\xff\xff\x7f")+"Q", 0, nums(1), nums(1))), "persistent id"},
			{"two pickles", archived(t, plain, plain), "another one"},
			{"two models, and neither is that of the first entry", archived(t, entryOf{"x/version", []byte("3"), false}, entryOf{"a/data.pkl", []byte(pickled("}")), false}, entryOf{"b/data.pkl", []byte(pickled("}")), false}), "2 pickles"},
			{"a version twice", archived(t, plain, entryOf{"m/version", []byte("3"), false}, entryOf{"m/version", []byte("3"), false}), "another one"},
			{"overlapping entries", overlapping(t), "begins before"},
			{"legacy: keys that are no list", []byte(oldMagic + pickled(num(1001)) + pickled("}") + pickled("}") + pickled("}")), "not a list"},
			{"legacy: unknown key", legacy(pickled("}"), []string{"k"}, nil), "no tensor"},
			{"legacy: key twice", legacy(pickled(tensorOf(oldStore("Byte", "k", 1, "N"), 0, nums(1), nums(1))), []string{"k", "k"}, []int64{1, 1}, []byte{1}, []byte{1}), "occurs twice"},
			{"legacy: another count", legacy(pickled(tensorOf(oldStore("Byte", "k", 1, "N"), 0, nums(1), nums(1))), []string{"k"}, []int64{2}, []byte{1, 2}), "2 elements"},
			{"legacy: no storage", legacy(pickled(tensorOf(oldStore("Float", "k", 6, "N"), 0, nums(6), nums(1))), nil, nil), "missing"},
			{"legacy: view that leaves its storage", legacy(pickled(tensorOf(oldStore("Float", "k", 6, tup(str("v"), num(5), num(2))), 0, nums(1), nums(1))), []string{"k"}, []int64{6}, floats(6)), "view"},
			{"legacy: one storage of two sizes", legacy(pickled(tup(oldStore("Float", "k", 6, "N"), oldStore("Byte", "k", 6, "N"))), []string{"k"}, []int64{6}, floats(6)), "before"},
			{"a storage twice", archived(t, plain, entryOf{"m/data/0", []byte{1}, false}, entryOf{"m/data/0", []byte{1}, false}), ": entries: "},
		},
		format.ErrTruncated: {
			{"no STOP", saved(t, "\x80\x02}"), ""},
			{"LONG4 beyond the end", one("\x8b\xff\xff\xff\x7f"), ""},
			{"string beyond the end", one("\x8d\xff\xff\xff\xff\xff\xff\xff\xff"), ""},
			{"frame beyond the end", saved(t, "\x80\x04\x95\xff\xff\xff\xff\xff\xff\xff\xff}."), "frame"},
			{"storage that is too short", one(tensorOf(store("Float", "0", 7), 0, nums(1), nums(1))), "24 bytes"},
			{"legacy: cut in a pickle", []byte(oldMagic + "\x80\x02"), ""},
			{"legacy: cut in a storage", legacy(pickled(tensorOf(oldStore("Float", "k", 6, "N"), 0, nums(6), nums(1))), []string{"k"}, []int64{6}, floats(5)), "20 are left"},
		},
		format.ErrLimit: {
			{"deep nesting", one(deep), "nested"},
			{"a long name", saved(t, pickled(dictOf(str(name+"n"), num(1)))), ": pickle: "},
			{"a long path", saved(t, pickled(dictOf(str(name[1:]), dictOf(str("nn"), num(1))))), ": pickle: "},
		},
		format.ErrMagic: {
			{"no pickle", archived(t, entryOf{"m/version", []byte("3"), false}), "none of which"},
		},
		format.ErrVersion: {
			{"legacy: protocol version", []byte(oldMagic + pickled(num(1000)) + pickled("}") + pickled("}") + pickled("]")), "1000"},
			{"a legacy version that is text", []byte(oldMagic + pickled(str("1001")) + pickled("}") + pickled("}") + pickled("]")), ": protocol version: "},
		},
	} {
		for _, tt := range faults {
			t.Run(tt.name, func(t *testing.T) { refuse(t, tt.file, want, tt.text) })
		}
	}
}

// overlapping returns an archive with one storage inside another.
func overlapping(t *testing.T) []byte {
	b := saved(t, pickled("}"), floats(100), floats(1))
	second := bytes.Index(b, []byte("m/data/1")) - 30 // its header, copied into the first storage
	inside := bytes.Index(b, floats(100))
	copy(b[inside:inside+400], b[second:second+30+8+4+64+4])
	record := bytes.LastIndex(b, []byte("m/data/1")) - 46
	binary.LittleEndian.PutUint32(b[record+42:], uint32(inside))
	return b
}

// TestExpanded checks that a tensor that expands one element too far opens but fails to load.
func TestExpanded(t *testing.T) {
	m, err := openBytes(saved(t, pickled(tensorOf(store("Float", "0", 1), 0, nums(1<<28+1), nums(0))), floats(1)), nil)
	expect.OK(t, err)
	defer m.Close()
	v, err := m.Tensor("tensor")
	if err == nil {
		_, err = v.Bytes()
	}
	if !errors.Is(err, format.ErrLimit) {
		t.Errorf("%v, want %v", err, format.ErrLimit)
	}
}

// TestLoadMemory checks that the source of a tensor counts against MaxMemory while it loads: an
// inflated storage or, behind a reader, the bytes between strided elements.
func TestLoadMemory(t *testing.T) {
	const elems = 2 << 20 // 8 MiB
	object := pickled(tensorOf(store("Float", "0", elems), 0, nums(2), nums(elems-1)))
	packed := archived(t, entryOf{"m/data.pkl", []byte(object), false}, entryOf{"m/data/0", make([]byte, 4*elems), true})
	plain := saved(t, object, make([]byte, 4*elems))
	for _, tt := range []struct {
		name string
		open func(o *format.Options) (*format.Model, error)
	}{
		{"inflated", func(o *format.Options) (*format.Model, error) { return openBytes(packed, o) }},
		{"strided behind a reader", func(o *format.Options) (*format.Model, error) {
			return openReaderAt(bytes.NewReader(plain), int64(len(plain)), o)
		}},
	} {
		for _, most := range []int64{4 << 20, 64 << 20} {
			m, err := tt.open(&format.Options{MaxMemory: most})
			expect.OK(t, err)
			defer m.Close()
			_, err = m.At(0).Bytes()
			if enough := most > 4*elems; enough != (err == nil) || !enough && !errors.Is(err, format.ErrLimit) {
				t.Errorf("%s, %d bytes: %v", tt.name, most, err)
			}
		}
	}
}

// TestLongPickle opens a legacy file whose pickles are longer than the first read.
func TestLongPickle(t *testing.T) {
	long := strings.Repeat("x", 3<<20)
	file := legacy(pickled(dictOf(str("s"), str(long), str("w"), tensorOf(oldStore("Float", "k", 6, "N"), 0, nums(6), nums(1)))), []string{"k"}, []int64{6}, floats(6))
	m, err := openBytes(file, nil)
	expect.OK(t, err)
	defer m.Close()
	if s, _ := expect.Got(t, m.Metadata).Get("s"); s != any(long) {
		t.Error("another string")
	}
	if got := tensorsOf(t, m); len(got) != 1 || got[0].Data != string(floats(6)) {
		t.Errorf("%v", got)
	}
	if m, err = openBytes(file, &format.Options{MaxMemory: 2 << 20}); !errors.Is(err, format.ErrLimit) {
		m.Close()
		t.Errorf("with 2 MiB: %v", err)
	}
}

// long8 pushes a 64-bit integer with LONG1; b is little-endian.
func long8(b string) string { return "\x8a\x08" + b }

// TestArguments calls the known functions with arguments that torch.save never writes.
func TestArguments(t *testing.T) {
	const (
		most = "\xff\xff\xff\xff\xff\xff\xff\x7f"
		half = "\x00\x00\x00\x00\x00\x00\x00\x40"
	)
	six := store("Float", "0", 6)
	untyped := tup(str("storage"), get("torch.storage", "UntypedStorage"), str("0"), str("cpu"), num(24)) + "Q"
	ones := make([]int32, 64+1)
	for i := range ones {
		ones[i] = 1
	}
	v2 := func(args ...string) string { return tup(append(args, "\x89", hooks)...) }
	for function, calls := range map[[2]string]map[string]string{
		{"torch._utils", "_rebuild_tensor_v2"}: {
			"too few": tup(six, num(0), nums(1), nums(1), "\x89"), "no storage": v2("N", num(0), nums(1), nums(1)),
			"an offset that is text": v2(six, str("0"), nums(1), nums(1)), "an offset below 0": v2(six, num(-1), nums(1), nums(1)),
			"a shape that is a number": v2(six, num(0), num(1), nums()), "strides that are a number": v2(six, num(0), nums(), num(1)), "a dim that is text": v2(six, num(0), tup(str("1")), nums(1)),
			"strides that are a list": v2(six, num(0), nums(1), "]"), "a stride below 0": v2(six, num(0), nums(1), nums(-1)),
			"more dims than strides": v2(six, num(0), nums(1, 1), nums(1)), "too many dims": v2(six, num(0), nums(ones...), nums(ones...)),
			"more bytes than numbers can say": v2(six, num(0), tup(long8(half)), nums(0)), "more elements than numbers can say": v2(six, num(0), tup(long8(half), long8(half)), nums(0, 0)),
			"a stride that overflows": v2(six, num(0), nums(3), tup(long8(most))), "an offset that overflows with strides": v2(six, long8(most), nums(2), nums(1)),
		},
		{"torch._utils", "_rebuild_tensor_v3"}: {
			"no dtype": v2(untyped, num(0), nums(1), nums(1)), "a dtype that is text": tup(untyped, num(0), nums(1), nums(1), "\x89", hooks, str("float32")),
			"a dtype of another module": tup(untyped, num(0), nums(1), nums(1), "\x89", hooks, get("collections", "OrderedDict")),
			"no storage":                tup("N", num(0), nums(1), nums(1), "\x89", hooks, get("torch", "float32")),
		},
		{"torch._utils", "_rebuild_tensor"}: {
			"too few": tup(six, num(0), nums(1)), "no storage": tup("N", num(0), nums(1), nums(1)), "beyond the storage": tup(six, num(6), nums(1), nums(1)),
		},
		{"torch._utils", "_rebuild_parameter"}: {"no tensor": tup("N", "\x88", hooks), "nothing": ")"},
	} {
		for name, args := range calls {
			t.Run(function[1]+"/"+name, func(t *testing.T) {
				refuse(t, saved(t, pickled(get(function[0], function[1]), args, "R"), floats(6)), format.ErrCorrupt, ": pickle: ")
			})
		}
	}
}

// refuse checks the sentinel, and a part of the text, of the error from opening file.
func refuse(t *testing.T, file []byte, want error, text string) {
	t.Helper()
	m, err := openBytes(file, nil)
	if err == nil {
		m.Close()
	}
	var e *tensor.Error
	if !errors.Is(err, want) || !errors.As(err, &e) || e.Format != "torch" || !strings.Contains(err.Error(), text) {
		t.Errorf("%v, want %v with %q", err, want, text)
	}
}

// TestShards opens all files of an index, by directory and by name. The second has strided tensors.
func TestShards(t *testing.T) {
	dir, four := t.TempDir(), store("Float", "0", 4)
	const index = "pytorch_model.bin.index.json"
	for name, content := range map[string][]byte{
		index:   []byte(`{"metadata":{"total_size":36},"weight_map":{"b":"2.bin","a":"1.bin","c":"2.bin"}}`),
		"1.bin": saved(t, pickled(dictOf(str("a"), tensorOf(four, 1, nums(3), nums(1)), str("kind"), str("toy"))), floats(4)),
		"2.bin": saved(t, pickled(dictOf(str("c"), tensorOf(four, 0, nums(2, 2), nums(1, 2)), str("b"), tensorOf(four, 2, nums(2), nums(1)))), floats(4)),
	} {
		expect.OK(t, os.WriteFile(filepath.Join(dir, name), content, 0o644))
	}
	for _, path := range []string{dir, filepath.Join(dir, index)} {
		m, err := format.Open(path, nil)
		expect.OK(t, err)
		defer m.Close()
		want := []seen{f32("b", !memory.LittleEndian, floats(4)[8:], 2), f32("a", !memory.LittleEndian, floats(4)[4:], 3), f32("c", true, floatsOf(0, 2, 1, 3), 2, 2)}
		expect.Equal(t, want, tensorsOf(t, m))
		expect.Equal(t, schema.Metadata{{Key: "kind", Value: "toy"}}, expect.Got(t, m.Metadata))
		if c, err := m.Verify(t.Context(), nil); err != nil || c == nil || len(m.Files()) != 3 {
			t.Errorf("%v, %v, files %q", c, err, m.Files())
		}
	}
}
