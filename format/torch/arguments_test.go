package torch

import (
	"errors"
	"strings"
	"testing"

	"github.com/weightmap/weightmap/format"
)

// long8 pushes a 64-bit integer with LONG1; b is little-endian.
func long8(b string) string { return "\x8a\x08" + b }

// TestArguments calls the known functions with arguments that torch.save never writes.
func TestArguments(t *testing.T) {
	const (
		most = "\xff\xff\xff\xff\xff\xff\xff\x7f"
		half = "\x00\x00\x00\x00\x00\x00\x00\x40"
	)
	six, one := store("Float", "0", 6), tensorOf(store("Float", "0", 6), 0, nums(1), nums(1))
	untyped := tup(str("storage"), get("torch.storage", "UntypedStorage"), str("0"), str("cpu"), num(24)) + "Q"
	ones := make([]int32, maxRank+1)
	for i := range ones {
		ones[i] = 1
	}
	v2 := func(args ...string) string { return tup(append(args, "\x89", hooks)...) }
	for function, calls := range map[[2]string]map[string]string{
		{"collections", "OrderedDict"}: {
			"a string": tup(str("x")), "a list and more": tup("]", "N"), "a number for a pair": tup("](K\x01e"),
			"a tuple of one": tup("](" + nums(1) + "e"), "a list of three": tup("](](K\x01K\x02K\x03ee"),
		},
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
			"a dtype that does not exist": tup(untyped, num(0), nums(1), nums(1), "\x89", hooks, get("torch", "Size")), "a dtype of another module": tup(untyped, num(0), nums(1), nums(1), "\x89", hooks, get("collections", "OrderedDict")),
			"no storage": tup("N", num(0), nums(1), nums(1), "\x89", hooks, get("torch", "float32")),
		},
		{"torch._utils", "_rebuild_parameter"}: {"too few": tup(one, "\x88"), "no tensor": tup("N", "\x88", hooks)},
		{"torch", "Size"}:                      {"nothing": ")", "a number": tup(num(1)), "two": tup(nums(1), nums(1))},
		{"torch", "device"}:                    {"nothing": ")", "three": tup(str("cuda"), num(1), num(2)), "a number": tup(num(1))},
		{"numpy", "dtype"}:                     {"nothing": ")", "a number": tup(num(1)), "a long name": tup(str(strings.Repeat("f", 16)))},
		{"numpy.core.multiarray", "scalar"}: {
			"one": tup("N"), "no dtype": tup("N", "C\x01a"), "no bytes": tup(get("numpy", "dtype")+tup(str("i1"))+"R", str("a")),
		},
		{"_codecs", "encode"}: {
			"one": tup(str("x")), "another code": tup(str("x"), str("utf-8")), "a code that is a number": tup(str("x"), num(1)), "no string": tup("N", str("latin1")), "a character of two bytes": tup(str("Ā"), str("latin1")),
		},
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
	m, err := OpenBytes(file, nil)
	if err == nil {
		m.Close()
	}
	var e *format.Error
	if !errors.Is(err, want) || !errors.As(err, &e) || e.Format != "torch" || !strings.Contains(err.Error(), text) {
		t.Errorf("%v, want %v with %q", err, want, text)
	}
}
