package torch

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/expect"
)

// opened is what a file shows.
type opened struct {
	Tensors map[string]string // by name: the type, the shape and the bytes
	Meta    map[string]any
	Notes   []string
}

// shown returns what a file shows, without notes of the engine.
func shown(t *testing.T, m *format.Model) opened {
	t.Helper()
	_, err := m.Verify(t.Context(), nil)
	expect.OK(t, err)
	got := opened{Tensors: map[string]string{}, Meta: map[string]any{}}
	for _, s := range tensorsOf(t, m) {
		got.Tensors[s.Name] = s.DType + " " + s.Shape.String() + " " + s.Data
	}
	meta, err := m.Metadata()
	expect.OK(t, err)
	for _, e := range meta {
		got.Meta[e.Key] = e.Value
	}
	for _, note := range m.Notes() {
		if !strings.Contains(note, "aligned") {
			got.Notes = append(got.Notes, note)
		}
	}
	return got
}

// one is how tensors of one element, value n, show.
func one(n int) string { return "float32 [1] " + string(floats(n + 1)[4*n:]) }

// item pushes a tensor of element n of storage 0, which has six.
func item(n int32) string { return tensorOf(store("Float", "0", 6), n, nums(1), nums(1)) }

// object pushes an object of a class with arguments and a state.
func object(class, args, state string) string { return class + args + "\x81" + state + "b" }

func utils(function string, args ...string) string {
	return get("torch._utils", function) + tup(args...) + "R"
}

func npDType(code string) string {
	return get("numpy", "dtype") + tup(str(code), "\x89", "\x88") + "R" + tup(num(3), str("<"), "N", "N", "N", num(-1), num(-1), num(0)) + "b"
}

// npArray pushes an array.
func npArray(code, shape, fortran, data string) string {
	return get("numpy.core.multiarray", "_reconstruct") + tup(get("numpy", "ndarray"), nums(0), "C\x01b") + "R" +
		tup(num(1), shape, npDType(code), fortran, data) + "b"
}

func blob(b []byte) string {
	return "B" + string(binary.LittleEndian.AppendUint32(nil, uint32(len(b)))) + string(b)
}

func latin(b []byte) string {
	runes := make([]rune, len(b))
	for i, c := range b {
		runes[i] = rune(c)
	}
	return get("_codecs", "encode") + tup(str(string(runes)), str("latin1")) + "R"
}

const falsity, truth = "\x89", "\x88"

// foreignPickle is a pickle and what it shows.
type foreignPickle struct {
	name   string
	pickle string
	want   opened
}

// foreignPickles returns pickles with values of all kinds beside a tensor.
func foreignPickles() []foreignPickle {
	foo := get("my.mod", "Foo")
	calledFoo := []string{"this pickle names my.mod.Foo, which was not called"}
	w := map[string]string{"w": one(1)}
	with := func(key, value string) string { return dictOf(str(key), value, str("w"), item(1)) }
	noted := func(kind string) []string {
		return []string{"not shown: 1 of type " + kind + `, the first at "x"`}
	}
	persistentText := "P('storage', <class 'torch.FloatStorage'>, '0', 'cpu', 6)\n"
	return []foreignPickle{
		{"os.system", with("x", get("os", "system")+tup(str("true"))+"R"), opened{w, map[string]any{"x.0": "true"}, []string{"this pickle names os.system, which was not called"}}},
		{"eval by STACK_GLOBAL", with("x", "\x8c\x08builtins\x8c\x04eval\x93"), opened{w, nil, append([]string{"this pickle names builtins.eval, which was not called"}, noted("builtins.eval")...)}},
		{"a name that is dropped", "cos\nsystem\n0" + with("n", num(1)), opened{w, map[string]any{"n": int64(1)}, []string{"this pickle names os.system, which was not called"}}},
		{"three names", get("a", "b") + "0" + get("c", "d") + "0" + get("e\"", "f") + "0" + with("n", num(1)), opened{w, map[string]any{"n": int64(1)}, []string{"this pickle names a.b, c.d and e\\\".f, which were not called"}}},
		{"INST", with("x", "("+item(2)+"imy.mod\nFoo\n"), opened{map[string]string{"x.0": one(2), "w": one(1)}, nil, calledFoo}},
		{"OBJ", with("x", "("+foo+item(2)+"o"), opened{map[string]string{"x.0": one(2), "w": one(1)}, nil, calledFoo}},
		{"NEWOBJ_EX", with("x", foo+tup(item(2))+dictOf(str("k"), item(3))+"\x92"), opened{map[string]string{"x.0": one(2), "x.k": one(3), "w": one(1)}, nil, calledFoo}},
		{"attributes", with("x", object(foo, ")", dictOf(str("a"), item(2), str("n"), num(7)))), opened{map[string]string{"x.a": one(2), "w": one(1)}, map[string]any{"x.n": int64(7)}, calledFoo}},
		{"slots", with("x", object(foo, ")", tup("N", dictOf(str("a"), item(2))))), opened{map[string]string{"x.a": one(2), "w": one(1)}, nil, calledFoo}},
		{"attributes and slots", with("x", object(foo, ")", tup(dictOf(str("b"), item(3)), dictOf(str("a"), item(2))))), opened{map[string]string{"x.a": one(2), "x.b": one(3), "w": one(1)}, nil, calledFoo}},
		{"a state that is a tuple", with("x", object(foo, ")", tup(item(2), num(3), str("a")))), opened{map[string]string{"x.0": one(2), "w": one(1)}, map[string]any{"x.1": int64(3), "x.2": "a"}, calledFoo}},
		{"a state that is a tensor", with("x", object(foo, ")", item(2))), opened{map[string]string{"x.state": one(2), "w": one(1)}, nil, calledFoo}},
		{"two states", with("x", object(foo, ")", dictOf(str("a"), item(2)))+dictOf(str("b"), item(3))+"b"), opened{map[string]string{"x.b": one(3), "x.0.a": one(2), "w": one(1)}, nil, calledFoo}},
		{"a subclass of dict", with("x", foo+")\x81("+str("k")+item(2)+"u"), opened{map[string]string{"x.k": one(2), "w": one(1)}, nil, calledFoo}},
		{"a subclass of dict, one by one", with("x", foo+")\x81"+str("k")+item(2)+"s"+str("l")+item(3)+"s"), opened{map[string]string{"x.k": one(2), "x.l": one(3), "w": one(1)}, nil, calledFoo}},
		{"a subclass of list", with("x", foo+")\x81("+item(2)+item(3)+"e"+item(4)+"a"), opened{map[string]string{"x.0": one(2), "x.1": one(3), "x.2": one(4), "w": one(1)}, nil, calledFoo}},
		{"a subclass of set", with("x", foo+")\x81("+item(2)+"\x90"), opened{map[string]string{"x.0": one(2), "w": one(1)}, nil, calledFoo}},
		{"a module", object(foo, ")", dictOf(
			str("_parameters"), hooks+"("+str("w")+utils("_rebuild_parameter", item(1), truth, hooks)+"u",
			str("_buffers"), dictOf(str("b"), item(2)),
			str("_modules"), hooks+"("+str("sub")+object(foo, ")", dictOf(str("_parameters"), dictOf(str("w"), item(3))))+"u",
			str("training"), truth)), opened{map[string]string{"w": one(1), "b": one(2), "sub.w": one(3)}, map[string]any{"training": true}, calledFoo}},
		{"_parameters of a dict", dictOf(str("_parameters"), dictOf(str("w"), item(1))), opened{map[string]string{"_parameters.w": one(1)}, nil, nil}},
		{"tied tensors", "}(" + str("a") + item(1) + "q\x05" + str("b") + "h\x05u", opened{map[string]string{"a": one(1), "b": one(1)}, nil, nil}},
		{"DUP", "(" + item(1) + "2t", opened{map[string]string{"0": one(1), "1": one(1)}, nil, nil}},
		{"LIST and DICT", "(" + str("l") + "(" + item(1) + "l" + str("d") + "(" + num(2) + item(2) + "dd", opened{map[string]string{"l.0": one(1), "d.2": one(2)}, nil, nil}},
		{"a set", with("x", "\x8f("+num(1)+item(2)+"\x90"), opened{map[string]string{"x.1": one(2), "w": one(1)}, map[string]any{"x.0": int64(1)}, nil}},
		{"a frozenset", with("x", "("+item(2)+"\x91"), opened{map[string]string{"x.0": one(2), "w": one(1)}, nil, nil}},
		{"set of a list", with("x", get("__builtin__", "set")+tup("]("+str("a")+"e")+"R"), opened{w, map[string]any{"x.0": "a"}, nil}},
		{"Counter", with("x", get("collections", "Counter")+tup(dictOf(str("a"), num(3)))+"R"), opened{w, map[string]any{"x.a": int64(3)}, nil}},
		{"defaultdict", with("x", get("collections", "defaultdict")+tup(get("builtins", "int"))+"R"+str("a")+item(2)+"s"), opened{map[string]string{"x.a": one(2), "w": one(1)}, nil, nil}},
		{"OrderedDict of pairs", with("x", get("collections", "OrderedDict")+tup("]("+tup(str("a"), item(2))+"]("+str("b")+num(1)+"ee")+"R"), opened{map[string]string{"x.a": one(2), "w": one(1)}, map[string]any{"x.b": int64(1)}, nil}},
		{"OrderedDict of odd pairs", with("x", get("collections", "OrderedDict")+tup("]("+num(4)+tup(num(5))+"e")+"R"), opened{w, map[string]any{"x.0": int64(4), "x.1.0": int64(5)}, nil}},
		{"state of an OrderedDict", with("x", hooks+dictOf(str("_metadata"), dictOf(str("version"), num(1)), str("t"), item(2))+"b"), opened{map[string]string{"x.t": one(2), "w": one(1)}, nil, nil}},
		{"copyreg._reconstructor", with("x", get("copy_reg", "_reconstructor")+tup(foo, get("__builtin__", "list"), "]("+item(2)+"e")+"R"+dictOf(str("a"), item(3))+"b"), opened{map[string]string{"x.0": one(2), "x.a": one(3), "w": one(1)}, nil, calledFoo}},
		{"copyreg.__newobj__", with("x", get("copyreg", "__newobj__")+tup(foo, item(2))+"R"), opened{map[string]string{"x.0": one(2), "w": one(1)}, nil, calledFoo}},
		{"bytearray", with("x", get("builtins", "bytearray")+tup("C\x01a")+"R"), opened{w, nil, noted("bytes")}},
		{"Namespace", with("x", object(get("argparse", "Namespace"), ")", dictOf(str("lr"), float(0.5)))), opened{w, map[string]any{"x.lr": 0.5}, nil}},
		{"a path", with("x", get("pathlib", "PosixPath")+tup(str("/"), str("a"), str("b"))+"R"), opened{w, map[string]any{"x": "/a/b"}, nil}},
		{"a path of no texts", with("x", get("pathlib", "PosixPath")+tup(num(1))+"R"), opened{w, map[string]any{"x.0": int64(1)}, nil}},
		{"datetime", with("x", get("datetime", "timedelta")+nums(1, 2, 3)+"R"), opened{w, map[string]any{"x.0": int64(1), "x.1": int64(2), "x.2": int64(3)}, nil}},
		{"a member of an enum", with("x", foo+nums(1)+"R"), opened{w, map[string]any{"x.0": int64(1)}, calledFoo}},
		{"the attribute of a class", with("x", get("builtins", "getattr")+tup(foo, str("Bar"))+"R"+")\x81"+dictOf(str("a"), item(2))+"b"), opened{map[string]string{"x.a": one(2), "w": one(1)}, nil, []string{"this pickle names builtins.getattr and my.mod.Foo, which were not called"}}},
		{"a device without an index", with("x", get("torch", "device")+tup(str("cpu"))+"R"), opened{w, map[string]any{"x": "cpu"}, nil}},
		{"a device of no kind", with("x", get("torch", "device")+nums(1)+"R"), opened{w, map[string]any{"x.0": int64(1)}, nil}},
		{"a NumPy class", with("x", get("numpy", "float32")), opened{w, nil, noted("numpy.float32")}},
		{"_rebuild_tensor", with("x", utils("_rebuild_tensor", store("Float", "0", 6), num(2), nums(1), nums(1))), opened{map[string]string{"x": one(2), "w": one(1)}, nil, nil}},
		{"a shape that is a Size", with("x", utils("_rebuild_tensor", store("Float", "0", 6), num(2), get("torch", "Size")+tup(nums(1))+"R", nums(1))), opened{map[string]string{"x": one(2), "w": one(1)}, nil, nil}},
		{"Parameter of PyTorch 0.3", with("x", get("torch.nn.parameter", "Parameter")+tup(item(2))+"\x81"+tup(truth, falsity, hooks)+"b"), opened{map[string]string{"x": one(2), "w": one(1)}, nil, nil}},
		{"_rebuild_parameter_with_state", with("x", utils("_rebuild_parameter_with_state", item(2), truth, hooks, dictOf(str("scale"), item(3)))), opened{map[string]string{"x": one(2), "x.scale": one(3), "w": one(1)}, nil, nil}},
		{"_rebuild_from_type_v2", with("x", get("torch._tensor", "_rebuild_from_type_v2")+tup(get("torch._utils", "_rebuild_tensor_v2"), foo, tup(store("Float", "0", 6), num(2), nums(1), nums(1), falsity, hooks), dictOf(str("a"), item(3)))+"R"), opened{map[string]string{"x": one(2), "x.a": one(3), "w": one(1)}, nil, calledFoo}},
		{"a type of a type", with("x", get("torch._tensor", "_rebuild_from_type_v2")+tup(get("torch._tensor", "_rebuild_from_type_v2"), foo, tup(item(2)), "N")+"R"), opened{map[string]string{"x.0": one(2), "w": one(1)}, nil, calledFoo}},
		{"quantized", with("x", utils("_rebuild_qtensor", store("QUInt8", "0", 24), num(0), nums(2), nums(1), tup(get("torch", "per_tensor_affine"), float(0.1), num(1)), falsity, hooks)), opened{w, nil, noted("quantized tensor")}},
		{"sparse", with("x", utils("_rebuild_sparse_tensor", get("torch", "sparse_coo"), tup(item(2), item(3), nums(3)))), opened{w, nil, noted("sparse tensor")}},
		{"meta", with("x", utils("_rebuild_meta_tensor_no_storage", get("torch", "float32"), nums(2), nums(1), falsity)), opened{w, nil, noted("meta tensor, which has no data")}},
		{"nested", with("x", utils("_rebuild_nested_tensor", item(1), item(1))), opened{w, nil, noted("nested tensor")}},
		{"a dtype that is not known", with("x", get("torch._utils", "_rebuild_tensor_v3")+tup(tup(str("storage"), get("torch.storage", "UntypedStorage"), str("0"), str("cpu"), num(24))+"Q", num(0), nums(1), nums(1), falsity, hooks, get("torch", "bits8"))+"R"),
			opened{w, nil, append([]string{"this pickle names torch.bits8, which was not called"}, noted("tensor of elements of an unknown type")...)}},
		{"a storage class that is not known", with("x", tensorOf(store("QUInt4x2", "0", 6), 0, nums(1), nums(1))),
			opened{w, nil, append([]string{"this pickle names torch.QUInt4x2Storage, which was not called"}, noted("tensor of elements of an unknown type")...)}},
		{"a storage", with("x", store("Float", "0", 6)), opened{w, nil, noted("storage")}},
		{"a list in itself", dictOf(str("w"), item(1), str("x"), "]q\x05(h\x05"+item(2)+"e"), opened{map[string]string{"w": one(1), "x.1": one(2)}, nil, []string{`not shown: 1 of type value that contains itself, the first at "x.0"`}}},
		{"an object in itself", with("x", foo+")\x81q\x05"+dictOf(str("me"), "h\x05", str("t"), item(2))+"b"), opened{map[string]string{"w": one(1), "x.t": one(2)}, nil, append(calledFoo, `not shown: 1 of type value that contains itself, the first at "x.me"`)}},
		{"keys", dictOf(truth, item(0), "N", item(1), float(2.5), item(2), "C\x01k", item(3), tup(num(1)), item(4), num(-5), item(5)), opened{map[string]string{"True": one(0), "None": one(1), "2.5": one(2), "k": one(3), "?4": one(4), "-5": one(5)}, nil, nil}},
		{"more keys", dictOf(falsity, item(0), float(1e300), item(1), float(3), item(2), str("a\x00b"), item(3), "C\x01\xff", item(4), "X\x03\x00\x00\x00\xed\xa0\x80", item(5)), opened{map[string]string{"False": one(0), "1e+300": one(1), "3.0": one(2), "?3": one(3), "?4": one(4), "?5": one(5)}, nil, nil}},
		{"equal names", dictOf(num(1), item(1), str("1"), item(2), "C\x011", item(3)), opened{map[string]string{"1": one(1), "1#2": one(2), "1#3": one(3)}, nil, []string{`2 tensors have the name of another and got a number: ["1#2" "1#3"]`}}},
		{"equal names that have numbers", dictOf(str("a#2"), item(1), str("a"), item(2), "C\x01a", item(3)), opened{map[string]string{"a#2": one(1), "a": one(2), "a#3": one(3)}, nil, []string{`1 tensor has the name of another and got a number: ["a#3"]`}}},
		{"a lone surrogate", with("x", "X\x03\x00\x00\x00\xed\xa0\x80"), opened{w, nil, noted("str with a lone surrogate")}},
		{"text of protocol 0", "(dp0\nS'a'\np1\nI5\nsS'b'\nL7L\nsS'c'\nF2.5\nsS'd'\nI01\nsVe\\u00e9\nV\xe9\\u20ac\nsS'f'\nS'\\x41\\n\\101\\'\\q'\nsg1\nI6\ns", opened{nil, map[string]any{"a": int64(6), "b": int64(7), "c": 2.5, "d": true, "eé": "é€", "f": "A\nA'\\q"}, nil}},
		{"a persistent id that is text", with("x", utils("_rebuild_tensor", persistentText, num(2), nums(1), nums(1))), opened{map[string]string{"x": one(2), "w": one(1)}, nil, nil}},
		{"integers", with("x", "](\x8a\x00\x8a\x01\xff\x8a\x02\xff\x00\x8b\x02\x00\x00\x00\x00\x80I-7\ne"), opened{w, map[string]any{"x.0": int64(0), "x.1": int64(-1), "x.2": int64(255), "x.3": int64(-32768), "x.4": int64(-7)}, nil}},
		{"unsigned integers", with("x", "](\x8a\x09\x00\x00\x00\x00\x00\x00\x00\x80\x00I18446744073709551615\ne"), opened{w, map[string]any{"x.0": json.Number("9223372036854775808"), "x.1": json.Number("18446744073709551615")}, nil}},
		{"an unsigned key", dictOf(str("w"), item(1), "\x8a\x09"+strings.Repeat("\xff", 8)+"\x00", item(2)), opened{map[string]string{"w": one(1), "18446744073709551615": one(2)}, nil, nil}},
		{"2^64", with("x", "I18446744073709551616\n"), opened{w, nil, noted("integer of 9 bytes")}},
		{"2^64-1 in ten bytes", with("x", "\x8a\x0a"+strings.Repeat("\xff", 8)+"\x00\x00"), opened{w, nil, noted("integer of 10 bytes")}},
		{"an integer below all of 64 bits", with("x", "\x8a\x09"+strings.Repeat("\x00", 7)+"\x80\xff"), opened{w, nil, noted("integer of 9 bytes")}},
		{"a long integer", with("x", "I123456789012345678901234567890\n"), opened{w, nil, noted("integer of 13 bytes")}},
		{"an array", with("x", npArray("f4", nums(2), falsity, blob(floats(2)))), opened{map[string]string{"x": "float32 [2] " + string(floats(2)), "w": one(1)}, nil, nil}},
		{"an array in Fortran order", with("x", npArray("f4", nums(2, 2), truth, blob(floats(4)))), opened{map[string]string{"x": "float32 [2, 2] " + string(floatsOf(0, 2, 1, 3)), "w": one(1)}, nil, nil}},
		{"an array as text", with("x", npArray("f4", nums(2), falsity, latin(floatsOf(-1, 3)))), opened{map[string]string{"x": "float32 [2] " + string(floatsOf(-1, 3)), "w": one(1)}, nil, nil}},
		{"an array as an escaped text", with("x", npArray("u1", nums(3), falsity, get("_codecs", "encode")+tup("Va\\u0000\xff\n", str("latin1"))+"R")), opened{map[string]string{"x": "uint8 [3] a\x00\xff", "w": one(1)}, nil, nil}},
		{"an array as a quoted text", with("x", npArray("u1", nums(3), falsity, "S'a\\x00\\xff'\n")), opened{map[string]string{"x": "uint8 [3] a\x00\xff", "w": one(1)}, nil, nil}},
		{"an array as a string of Python 2", with("x", npArray("u1", nums(3), falsity, "U\x03abc")), opened{map[string]string{"x": "uint8 [3] abc", "w": one(1)}, nil, nil}},
		{"an array by _frombuffer", with("x", get("numpy._core.numeric", "_frombuffer")+tup("\x96\x04\x00\x00\x00\x00\x00\x00\x00\x00\x01\x00\x02", npDType("i2"), nums(2), str("C"))+"R"), opened{map[string]string{"x": "int16 [2] \x00\x01\x00\x02", "w": one(1)}, nil, nil}},
		{"an array of texts", with("x", npArray("S2", nums(2), falsity, "C\x04abcd")), opened{map[string]string{"x": "<S2 [2] abcd", "w": one(1)}, nil, nil}},
		{"an array of bfloat16", with("x", get("numpy.core.multiarray", "_reconstruct")+tup(get("numpy", "ndarray"), nums(0), "C\x01b")+"R"+tup(num(1), nums(1), get("numpy", "dtype")+tup(get("ml_dtypes", "bfloat16"), falsity, truth)+"R", falsity, "C\x02\x80\x3f")+"b"), opened{map[string]string{"x": "bfloat16 [1] \x80\x3f", "w": one(1)}, nil, nil}},
		{"an array of objects", with("x", npArray("O8", nums(2), falsity, "]("+item(2)+num(3)+"e")), opened{map[string]string{"x.0": one(2), "w": one(1)}, map[string]any{"x.1": int64(3)}, nil}},
		{"an array of one object", with("x", npArray("O8", ")", falsity, "]("+dictOf(str("k"), item(2))+"e")), opened{map[string]string{"x.k": one(2), "w": one(1)}, nil, nil}},
		{"a NumPy scalar of no dtype", with("x", get("numpy.core.multiarray", "scalar")+tup("N", "C\x01a")+"R"), opened{w, nil, noted("numpy.core.multiarray.scalar")}},
		{"_codecs.encode of anything", with("x", get("_codecs", "encode")+tup("N")+"R"), opened{w, nil, noted("bytes")}},
	}
}

func TestForeign(t *testing.T) {
	for _, tt := range foreignPickles() {
		t.Run(tt.name, func(t *testing.T) {
			for container, file := range map[string][]byte{
				"zip":    saved(t, pickled(tt.pickle), floats(6)),
				"packed": archived(t, entryOf{"m/data.pkl", []byte(pickled(tt.pickle)), true}, entryOf{"m/data/0", floats(6), true}),
			} {
				m, err := openBytes(file, nil)
				if err != nil {
					t.Errorf("%s: %v", container, err)
					continue
				}
				if d := cmp.Diff(tt.want, shown(t, m), cmpopts.EquateEmpty()); d != "" {
					t.Errorf("%s: %s", container, d)
				}
				m.Close()
			}
		})
	}
}

// TestPlainPickles opens pickles that are not from torch.save.
func TestPlainPickles(t *testing.T) {
	inner := legacy(pickled(oldStore("Float", "k", 6, "N")), []string{"k"}, []int64{6}, floats(6))
	load := func(bytes string) string { return get("torch.storage", "_load_from_bytes") + tup(bytes) + "R" }
	nested := func(bytes string) string { return tensorOf(load(bytes), 2, nums(2), nums(1)) }
	want := map[string]string{"w": "float32 [2] " + string(floats(4)[8:])}
	for _, tt := range []struct {
		name, file string
		want       opened
	}{
		{"an array", pickled(dictOf(str("w"), npArray("f4", nums(2), falsity, blob(floatsOf(2, 3))))), opened{want, nil, nil}},
		{"an array of protocol 0", "(dp0\nS'w'\n" + npArray("f4", nums(2), falsity, "S'\\x00\\x00\\x00@\\x00\\x00@@'\n") + "s.", opened{want, nil, nil}},
		{"protocol 4", "\x80\x04\x95\x00\x00\x00\x00\x00\x00\x00\x00" + dictOf(str("w"), npArray("f4", nums(2), falsity, blob(floatsOf(2, 3)))) + ".", opened{want, nil, nil}},
		{"a tensor", pickled(dictOf(str("w"), nested(blob(inner)))), opened{want, nil, nil}},
		{"a tensor as text", pickled(dictOf(str("w"), nested(latin(inner)))), opened{want, nil, nil}},
		{"two tensors in a storage", pickled(dictOf(str("w"), tensorOf(load(blob(inner))+"q\x05", 2, nums(2), nums(1)), str("v"), tensorOf("h\x05", 1, nums(1), nums(1)))), opened{map[string]string{"w": want["w"], "v": one(1)}, nil, nil}},
		{"bytes behind it", pickled(dictOf(str("w"), nested(blob(inner)))) + "abc", opened{want, nil, []string{"3 bytes follow the pickle"}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m, err := format.OpenBytes([]byte(tt.file), nil)
			expect.OK(t, err)
			defer m.Close()
			expect.Equal(t, "torch pickle", m.Format()+" "+m.Version())
			if d := cmp.Diff(tt.want, shown(t, m), cmpopts.EquateEmpty()); d != "" {
				t.Error(d)
			}
		})
	}
	torn := bytes.Clone(inner)
	torn[len(torn)-6*4-8]++
	for _, tt := range []struct {
		name, file string
		want       error
		text       string
	}{
		{"no arrays", pickled("}"), format.ErrUnknownFormat, "a Python pickle of a value of type dict, without tensors or arrays"},
		{"scikit-learn", pickled(get("sklearn.svm", "SVC"), ")\x81"), format.ErrUnknownFormat, "scikit-learn"},
		{"joblib", "\x80\x04" + get("joblib.numpy_pickle", "NumpyArrayWrapper") + ")\x81}b\xff\xff", format.ErrUnknownFormat, "numpy.savez"},
		{"a storage of another count", pickled(nested(blob(torn))), format.ErrCorrupt, "7 elements"},
		{"a storage that is cut", pickled(nested(blob(inner[:len(inner)-1]))), format.ErrCorrupt, "23 are left"},
		{"a storage that is no bytes", pickled(nested(num(1))), format.ErrCorrupt, `type "int"`},
		{"a storage that is no storage", pickled(nested(blob([]byte(pickled("}"))))), format.ErrUnsupported, "older container"},
		{"a storage that is a dict", pickled(nested(blob(legacy(pickled("}"), nil, nil)))), format.ErrUnsupported, `type "dict"`},
	} {
		t.Run(tt.name, func(t *testing.T) { refuse(t, []byte(tt.file), tt.want, tt.text) })
	}
}

// TestLegacyForms opens legacy containers as older versions of PyTorch write them.
func TestLegacyForms(t *testing.T) {
	four := tup(str("storage"), get("torch", "FloatStorage"), str("k"), str("cpu"), num(6)) + "Q"
	module := tup(str("module"), get("my.mod", "Foo"), str("foo.py"), str("class Foo: pass")) + "Q"
	untyped := tup(str("storage"), get("torch.storage", "UntypedStorage"), str("k"), str("cpu"), num(24), "N") + "Q"
	for _, tt := range []struct {
		name, object string
		count        int64
		want         opened
	}{
		{"a persistent id of four values", dictOf(str("w"), tensorOf(four, 1, nums(1), nums(1))), 6, opened{map[string]string{"w": one(1)}, nil, nil}},
		{"a class with its source", object(module, ")", dictOf(str("w"), tensorOf(four, 1, nums(1), nums(1)))), 6, opened{map[string]string{"w": one(1)}, nil, []string{"this pickle names my.mod.Foo, which was not called"}}},
		{"an UntypedStorage", get("torch._utils", "_rebuild_tensor_v3") + tup(untyped, num(1), nums(1), nums(1), falsity, hooks, get("torch", "float32")) + "R", 24, opened{map[string]string{"tensor": one(1)}, nil, nil}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m, err := openBytes(legacy(pickled(tt.object), []string{"k"}, []int64{tt.count}, floats(6)), nil)
			expect.OK(t, err)
			defer m.Close()
			if d := cmp.Diff(tt.want, shown(t, m), cmpopts.EquateEmpty()); d != "" {
				t.Error(d)
			}
		})
	}
}

// TestScript opens a TorchScript archive, whose constants are storages of their own.
func TestScript(t *testing.T) {
	module := get("__torch__", "Net") + ")\x81" + dictOf(str("w"), item(1)) + "b"
	constants := tup(tensorOf(store("Float", "0", 6), 2, nums(1), nums(1)))
	m, err := openBytes(archived(t, entryOf{"m/data.pkl", []byte(pickled(module)), false}, entryOf{"m/data/0", floats(6), false}, entryOf{"m/code/__torch__.py", []byte("x"), false},
		entryOf{"m/constants.pkl", []byte(pickled(constants)), false}, entryOf{"m/constants/0", floatsOf(9, 8, 7, 6, 5, 4), false}), nil)
	expect.OK(t, err)
	defer m.Close()
	want := opened{map[string]string{"w": one(1), "constants.0": "float32 [1] " + string(floatsOf(7))}, map[string]any{}, []string{"this is a TorchScript archive: its tensors are shown, its code is not read"}}
	if d := cmp.Diff(want, shown(t, m)); d != "" {
		t.Error(d)
	}
}

// TestPaths opens pickles whose values are reached by more paths than are shown, or that have the same long text many times.
func TestPaths(t *testing.T) {
	laughs := item(1) + "q\x000" // each tuple holds the previous one ten times
	for range 30 {
		laughs += "(" + strings.Repeat("h\x00", 10) + "tq\x000"
	}
	name := strings.Repeat("n", mostName-16)
	text := strings.Repeat("t", 1<<20)
	const many = 200_000
	for _, tt := range []struct {
		name, pickle string
		want         error
		text         string
	}{
		{"billion laughs", laughs + "h\x00", nil, "too many paths"},
		{"a shared name that grows", "}q\x00(" + str(name) + num(1) + "u0](" + strings.Repeat("h\x00", 5000) + "e", nil, "too many paths"},
		{"a dict with a long key many times", "}q\x00(" + str(name) + "Nu0](" + strings.Repeat("h\x00", many) + "e", nil, "too many paths"},
		{"a long key in many dicts", str(name) + "q\x000](" + strings.Repeat("}h\x00Ns", many) + "e", format.ErrLimit, "its keys have more than"},
		{"a long text many times", str(text) + "q\x000](" + strings.Repeat("h\x00", many) + "e", nil, ""},
		{"an array as text many times", npArray("u1", nums(1<<20), falsity, latin([]byte(text))) + "q\x000](" + strings.Repeat("h\x00", many) + "e", nil, ""},
		{"many arrays of a text", latin([]byte(text)) + "q\x000" + npDType("u1") + "q\x010" + nums(1<<20) + "q\x020](" + strings.Repeat(
			get("numpy.core.multiarray", "_reconstruct")+tup(get("numpy", "ndarray"), ")", "N")+"R"+tup(num(1), "h\x02h\x01", falsity, "h\x00")+"b", 20_000) + "e", nil, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			file := saved(t, pickled(tt.pickle), floats(6))
			if tt.want != nil {
				refuse(t, file, tt.want, tt.text)
				return
			}
			m, err := openBytes(file, nil)
			expect.OK(t, err)
			defer m.Close()
			if notes := strings.Join(m.Notes(), "; "); !strings.Contains(notes, tt.text) {
				t.Errorf("notes %q", notes)
			}
		})
	}
}
