package torch

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"math"
	"runtime"
	"strings"
	"testing"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/tensor"
)

var le = binary.LittleEndian

// hostile is a file of which it is known what opening it gives.
type hostile struct {
	name  string
	file  []byte
	want  error  // nil: the tensor w is 0 1 2 3
	text  string // in the error, or in a note
	later error  // of Verify
}

// soundPickle has one tensor, w, in storage 0.
func soundPickle(key string) string {
	return pickled(dictOf(str("w"), tensorOf(store("Float", key, 4), 0, nums(4), nums(1))))
}

// soundEntries are those of a model with one tensor, and more.
func soundEntries(more ...entryOf) []entryOf {
	return append([]entryOf{
		{"m/data.pkl", []byte(soundPickle("0")), false}, {"m/byteorder", []byte("little"), false},
		{"m/data/0", floats(4), false}, {"m/version", []byte("3\n"), false},
	}, more...)
}

// Fields of a local header and of a record of the directory: their offset in the latter, which is 2 more than in the
// former, and their size.
type entryField struct{ off, size int }

var (
	flagsOf  = entryField{8, 2}
	methodOf = entryField{10, 2}
	sumOf    = entryField{16, 4}
	packedOf = entryField{20, 4}
	sizeOf   = entryField{24, 4}
	nameOf   = entryField{28, 2}
	extraOf  = entryField{30, 2}
)

// recordOf returns the offset of the record of an entry in the directory, and headOf that of its local header.
func recordOf(b []byte, name string) int { return bytes.LastIndex(b, []byte(name)) - 46 }

func headOf(b []byte, name string) int { return int(le.Uint32(b[recordOf(b, name)+42:])) }

func put(b []byte, f entryField, v uint64) {
	copy(b, le.AppendUint64(nil, v)[:f.size])
}

// listed changes a field in the directory, local in the local header, and both in both.
func listed(b []byte, name string, f entryField, v uint64) []byte {
	put(b[recordOf(b, name)+f.off:], f, v)
	return b
}

func local(b []byte, name string, f entryField, v uint64) []byte {
	put(b[headOf(b, name)+f.off-2:], f, v)
	return b
}

func both(b []byte, name string, f entryField, v uint64) []byte {
	return local(listed(b, name, f, v), name, f, v)
}

// ending changes the bytes of the end of the central directory at an offset of it.
func ending(b []byte, f entryField, v uint64) []byte {
	put(b[bytes.LastIndex(b, []byte("PK\x05\x06"))+f.off:], f, v)
	return b
}

// streamed returns an archive whose entries have data descriptors.
func streamed(t *testing.T) []byte {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, e := range soundEntries() {
		to, err := w.CreateHeader(&zip.FileHeader{Name: e.name, Method: zip.Store})
		expect.OK(t, err)
		_, err = to.Write(e.data)
		expect.OK(t, err)
	}
	expect.OK(t, w.Close())
	return b.Bytes()
}

// hostileArchives are archives of which one thing is wrong.
func hostileArchives(t *testing.T) (list []hostile) {
	good := func() []byte { return archived(t, soundEntries()...) }
	add := func(name string, file []byte, want error, text string) {
		list = append(list, hostile{name, file, want, text, nil})
	}
	for _, e := range []string{"m/data.pkl", "m/byteorder", "m/version"} {
		sum := uint64(crc32.ChecksumIEEE([]byte("another content")))
		add(e+": another checksum in the directory", listed(good(), e, sumOf, sum), format.ErrChecksum, e[2:])
		add(e+": another checksum in the header", local(good(), e, sumOf, sum), format.ErrChecksum, e[2:])
		add(e+": another checksum in both", both(good(), e, sumOf, sum), format.ErrChecksum, e[2:])
		add(e+": no checksum", both(good(), e, sumOf, 0), format.ErrChecksum, e[2:])
	}
	sum := uint64(crc32.ChecksumIEEE([]byte("another content")))
	list = append(list,
		hostile{"another checksum of a storage in the directory", listed(good(), "m/data/0", sumOf, sum), nil, "", format.ErrChecksum},
		hostile{"another checksum of a storage in the header", local(good(), "m/data/0", sumOf, sum), nil, "", format.ErrChecksum},
		hostile{"another checksum of a storage in both", both(good(), "m/data/0", sumOf, sum), nil, "", format.ErrChecksum})
	for _, e := range []string{"m/data.pkl", "m/byteorder", "m/version", "m/data/0"} {
		add(e+": encrypted", both(good(), e, flagsOf, 1), format.ErrUnsupported, "encrypted")
		add(e+": strongly encrypted", both(good(), e, flagsOf, 1<<6|1), format.ErrUnsupported, "encrypted")
		add(e+": an unknown method", both(good(), e, methodOf, 93), format.ErrUnsupported, "93")
		add(e+": encrypted in the directory only", listed(good(), e, flagsOf, 1), format.ErrCorrupt, "flags")
		add(e+": encrypted in the header only", local(good(), e, flagsOf, 1), format.ErrCorrupt, "flags")
		add(e+": another method in the header", local(good(), e, methodOf, 8), format.ErrCorrupt, "method")
		add(e+": larger in the directory", listed(good(), e, sizeOf, 1000), format.ErrCorrupt, "")
		add(e+": larger in the header", local(good(), e, sizeOf, 1000), format.ErrCorrupt, "sizes")
		add(e+": of 4 GB", both(both(good(), e, sizeOf, math.MaxUint32-1), e, packedOf, math.MaxUint32-1), format.ErrCorrupt, "sizes")
		add(e+": a size that is left to a zip64 field which is not there", listed(good(), e, sizeOf, math.MaxUint32), format.ErrCorrupt, "")
		add(e+": a name without an end", both(good(), e, nameOf, math.MaxUint16), format.ErrTruncated, "")
		add(e+": extra fields without an end in the header", local(good(), e, extraOf, math.MaxUint16), format.ErrCorrupt, "")
		add(e+": at the directory", listed(good(), e, entryField{42, 4}, uint64(recordOf(good(), "m/data.pkl"))), format.ErrCorrupt, "offset")
		add(e+": beyond the file", listed(good(), e, entryField{42, 4}, math.MaxUint32-1), format.ErrCorrupt, "offset")
		add(e+": at another entry", listed(good(), e, entryField{42, 4}, uint64(headOf(good(), "m/byteorder")+1)), format.ErrCorrupt, "local header")
		add(e+": on another disk", listed(good(), e, entryField{34, 2}, 1), format.ErrUnsupported, "disk")
	}
	other := soundEntries(entryOf{"n/x", []byte("x"), false})
	add("an encrypted entry of another name", both(archived(t, other...), "n/x", flagsOf, 1), nil, `the first is "n/x"`)
	add("an unknown method of another name", both(archived(t, other...), "n/x", methodOf, 93), nil, `the first is "n/x"`)
	unused := soundEntries(entryOf{"m/x", []byte("x"), false})
	add("an unknown method of an entry that is not read", both(archived(t, unused...), "m/x", methodOf, 93), nil, "")
	add("two entries with one header", listed(archived(t, soundEntries(entryOf{"m/data/1", floats(4), false})...), "m/data/1", entryField{42, 4}, uint64(headOf(good(), "m/data/0"))), format.ErrCorrupt, "its name is")

	two := soundEntries(entryOf{"m/data/0", floats(4), false})
	add("a storage twice", archived(t, two...), format.ErrCorrupt, "occurs twice")
	add("a storage twice, with one header", listed(archived(t, two...), "m/data/0", entryField{42, 4}, uint64(headOf(good(), "m/data/0"))), format.ErrCorrupt, "begins before")
	add("constants twice", archived(t, soundEntries(entryOf{"m/constants.pkl", []byte(pickled(")")), false}, entryOf{"m/constants.pkl", []byte(pickled(")")), false})...), format.ErrCorrupt, "another one")
	add("a storage of constants twice", archived(t, soundEntries(entryOf{"m/code/m.py", nil, false}, entryOf{"m/constants.pkl", []byte(pickled(")")), false},
		entryOf{"m/constants/0", nil, false}, entryOf{"m/constants/0", nil, false})...), format.ErrCorrupt, "occurs twice")

	for _, key := range []string{"a/b", "..", "../0", "../../etc/passwd", "/etc/passwd", `..\0`, "C:\\x", ".", "a\x00b", " ", strings.Repeat("k", 60000)} {
		file := archived(t, entryOf{"m/data.pkl", []byte(soundPickle(key)), false}, entryOf{"m/data/" + key, floats(4), false})
		add("a storage called "+key[:min(len(key), 20)], file, nil, "")
	}
	named := func(name string) []byte {
		return archived(t, entryOf{name + "data.pkl", []byte(soundPickle("0")), false}, entryOf{name + "data/0", floats(4), false})
	}
	add("a NAME of nothing", named("/"), nil, "")
	add("a NAME of two dots", named("../"), nil, "")
	add("a NAME with NUL", named("m\x00/"), nil, "")
	add("a NAME that is no UTF-8", named("\xff/"), nil, "")
	add("no NAME", named(""), format.ErrUnsupported, "open the directory that has data.pkl")
	add("a NAME of two elements", named("a/b/"), format.ErrUnsupported, "open the directory that has data.pkl")
	add("a pickle whose name ends in NUL", named("m/\x00"), format.ErrMagic, "ZIP archive")
	nul := soundEntries()
	nul[2].name += "\x00"
	add("a storage whose name ends in NUL", archived(t, nul...), format.ErrCorrupt, "missing")

	stream := streamed(t)
	add("data descriptors", bytes.Clone(stream), nil, "")
	descriptor := func(n int, off entryField, v uint64) []byte {
		b := bytes.Clone(stream)
		at := 0
		for range n {
			at += bytes.Index(b[at:], []byte("PK\x07\x08")) + 4
		}
		put(b[at-4+off.off:], off, v)
		return b
	}
	add("a descriptor with another checksum of the pickle", descriptor(1, entryField{4, 4}, 7), format.ErrChecksum, "data.pkl")
	list = append(list, hostile{"a descriptor with another checksum of a storage", descriptor(3, entryField{4, 4}, 7), nil, "", format.ErrChecksum})
	add("a descriptor with another size", descriptor(1, entryField{12, 4}, 7), format.ErrCorrupt, "data descriptor")
	add("a descriptor with another packed size", descriptor(1, entryField{8, 4}, 7), format.ErrCorrupt, "data descriptor")
	add("a descriptor that is not there", descriptor(1, entryField{0, 4}, 0), format.ErrCorrupt, "data descriptor")

	add("an entry more than there is", ending(ending(good(), entryField{8, 2}, 5), entryField{10, 2}, 5), format.ErrTruncated, "")
	add("an entry less", ending(ending(good(), entryField{8, 2}, 3), entryField{10, 2}, 3), format.ErrCorrupt, "follow its 3 entries")
	add("65,535 entries", ending(ending(good(), entryField{8, 2}, math.MaxUint16), entryField{10, 2}, math.MaxUint16), format.ErrCorrupt, "entries")
	add("no entries", ending(ending(good(), entryField{8, 2}, 0), entryField{10, 2}, 0), format.ErrCorrupt, "follow its 0 entries")
	add("counts that differ", ending(good(), entryField{8, 2}, 3), format.ErrUnsupported, "disks")
	add("a second disk", ending(good(), entryField{4, 2}, 1), format.ErrUnsupported, "disks")
	add("a directory of nothing", ending(good(), entryField{12, 4}, 0), format.ErrCorrupt, "directory")
	add("a directory of 4 GB", ending(good(), entryField{12, 4}, math.MaxUint32), format.ErrCorrupt, "directory")
	add("a directory at the beginning", ending(good(), entryField{16, 4}, 0), format.ErrCorrupt, "directory")
	add("a directory beyond the file", ending(good(), entryField{16, 4}, math.MaxUint32), format.ErrCorrupt, "directory")
	add("a comment beyond the file", ending(good(), entryField{20, 2}, 9), format.ErrCorrupt, "comment")
	add("bytes behind it", append(good(), "more"...), format.ErrCorrupt, "comment")
	add("bytes before it", append([]byte("PK\x03\x04"), good()...), format.ErrCorrupt, "")
	add("a comment", append(ending(good(), entryField{20, 2}, 2), "hi"...), nil, "")
	return append(list, wideArchives(good)...)
}

// wideArchives have the records of zip64 in front of the end.
func wideArchives(good func() []byte) (list []hostile) {
	wide := func(count, size, off uint64, disk uint32, at int64) []byte {
		b := good()
		end := bytes.LastIndex(b, []byte("PK\x05\x06"))
		n := uint64(le.Uint16(b[end+10:]))
		length := uint64(le.Uint32(b[end+12:]))
		start := uint64(le.Uint32(b[end+16:]))
		record := le.AppendUint32(le.AppendUint64([]byte("PK\x06\x06"), 44), 45|45<<16)
		record = le.AppendUint32(le.AppendUint32(record, disk), 0)
		for _, v := range []uint64{n + count, n + count, length + size, start + off} {
			record = le.AppendUint64(record, v)
		}
		locator := le.AppendUint32([]byte("PK\x06\x07"), 0)
		locator = le.AppendUint32(le.AppendUint64(locator, uint64(int64(end)+at)), 1)
		tail := bytes.Clone(b[end:])
		for i := 8; i < 20; i++ {
			tail[i] = 0xff
		}
		return append(append(append(b[:end:end], record...), locator...), tail...)
	}
	return []hostile{
		{"zip64", wide(0, 0, 0, 0, 0), nil, "", nil},
		{"zip64: an entry more", wide(1, 0, 0, 0, 0), format.ErrTruncated, "", nil},
		{"zip64: 2^62 entries", wide(1<<62, 0, 0, 0, 0), format.ErrCorrupt, "entries", nil},
		{"zip64: a size that wraps", wide(0, math.MaxUint64-7, 8, 0, 0), format.ErrCorrupt, "", nil},
		{"zip64: a directory of 2^63 bytes", wide(0, 1<<63, 0, 0, 0), format.ErrCorrupt, "directory offset", nil},
		{"zip64: a directory elsewhere", wide(0, 0, 1<<40, 0, 0), format.ErrCorrupt, "directory offset", nil},
		{"zip64: another disk", wide(0, 0, 0, 1, 0), format.ErrUnsupported, "disks", nil},
		{"zip64: a record elsewhere", wide(0, 0, 0, 0, -1), format.ErrCorrupt, "zip64 record", nil},
		{"zip64: a record beyond the file", wide(0, 0, 0, 0, 1<<40), format.ErrCorrupt, "zip64 locator", nil},
		{"zip64: a record before the file", wide(0, 0, 0, 0, -1<<40), format.ErrCorrupt, "zip64 locator", nil},
	}
}

// hostilePickles are pickles that no pickler writes, in a sound archive with a storage of 0 1 2 3.
func hostilePickles(t *testing.T) (list []hostile) {
	four := store("Float", "0", 4)
	w := str("w") + tensorOf(four, 0, nums(4), nums(1))
	add := func(name, pkl string, want error, text string) {
		list = append(list, hostile{name, saved(t, pkl, floats(4)), want, text, nil})
	}
	// beside adds a value to the dict that has w.
	beside := func(name, value string, want error, text string) {
		add(name, pickled("}q\x00(", str("x"), value, w, "u"), want, text)
	}
	const huge = "\x8a\x08\xff\xff\xff\xff\xff\xff\xff\x7f"
	call := func(module, name string, args ...string) string { return get(module, name) + tup(args...) + "R" }
	v2 := func(args ...string) string {
		return call("torch._utils", "_rebuild_tensor_v2", append(args, "\x89", hooks)...)
	}

	beside("a dict in itself", "h\x00", nil, "itself")
	beside("a list in itself", "]q\x05(h\x05e", nil, "itself")
	beside("a tuple in itself", "]q\x05h\x05\x85q\x06a", nil, "itself")
	beside("a set in itself", "\x8fq\x05(h\x05\x90", nil, "itself")
	beside("an object in its state", get("a", "B")+")\x81q\x05}("+str("s")+"h\x05ub", nil, "itself")
	beside("an object in its arguments", "]q\x05"+get("a", "B")+"h\x05\x85Rq\x06a0h\x06", nil, "itself")
	beside("an OrderedDict in itself", hooks+"q\x05("+str("k")+"h\x05u", nil, "itself")
	beside("a module in its modules", get("a", "M")+")\x81q\x05}("+str("_modules")+"}("+str("m")+"h\x05uub", nil, "itself")
	beside("a tensor in the hooks of itself", get("torch._utils", "_rebuild_tensor_v2")+tup(four, num(0), nums(4), nums(1), "\x89", "]q\x05")+"Rq\x060h\x05h\x06a", nil, "")
	beside("lists of lists, 2^40 paths", "]q\x05"+strings.Repeat("0(h\x05h\x05lq\x05", 40), nil, "too many paths")

	beside("a persistent id of a list", "]Q", nil, "storage")
	add("a tensor in a persistent id of a list", pickled("}(", str("w"), tensorOf("]q\x05Q", 0, nums(4), nums(1)), "u"), format.ErrCorrupt, "persistent id")
	add("a tensor in a persistent id of a tensor", pickled("}(", str("w"), tensorOf(tensorOf(four, 0, nums(4), nums(1))+"Q", 0, nums(4), nums(1)), "u"), format.ErrCorrupt, "persistent id")
	add("a tensor in a tensor", pickled("}(", str("w"), tensorOf(tensorOf(four, 0, nums(4), nums(1)), 0, nums(4), nums(1)), "u"), format.ErrCorrupt, "tensor over a value")
	add("a storage of a class that is text", pickled("}(", str("w"), tensorOf(tup(str("storage"), str("FloatStorage"), str("0"), str("cpu"), num(4))+"Q", 0, nums(4), nums(1)), "u"), format.ErrCorrupt, "persistent id")
	add("a storage of a key that is a number", pickled("}(", str("w"), tensorOf(tup(str("storage"), get("torch", "FloatStorage"), num(0), str("cpu"), num(4))+"Q", 0, nums(4), nums(1)), "u"), format.ErrCorrupt, "persistent id")
	add("a storage of -1 elements", pickled("}(", str("w"), tensorOf(store("Float", "0", -1), 0, nums(4), nums(1)), "u"), format.ErrCorrupt, "persistent id")
	add("a storage of more elements than it has", pickled("}(", str("w"), tensorOf(store("Float", "0", 5), 0, nums(4), nums(1)), "u"), format.ErrTruncated, "16 bytes")
	add("a storage of fewer elements than it has", pickled("}(", str("w"), tensorOf(store("Float", "0", 3), 0, nums(4), nums(1)), "u"), format.ErrCorrupt, "storage of 3")
	add("a storage of wider elements", pickled("}(", str("w"), tensorOf(store("Double", "0", 4), 0, nums(4), nums(1)), "u"), format.ErrTruncated, "16 bytes")

	beside("strides that overlap", v2(four, num(0), nums(2, 2), nums(1, 1)), nil, "")
	beside("a stride of 0", v2(four, num(3), nums(1000), nums(0)), nil, "")
	beside("strides of 0 of 2^62 elements", v2(four, num(0), tup("\x8a\x08\x00\x00\x00\x00\x00\x00\x00\x40"), nums(0)), format.ErrCorrupt, "")
	beside("strides of 0 of 2^40 elements", v2(four, num(0), tup("\x8a\x06\x00\x00\x00\x00\x00\x01"), nums(0)), nil, "")
	beside("a stride below 0", v2(four, num(3), nums(4), nums(-1)), format.ErrCorrupt, "")
	beside("strides that leave the storage by one", v2(four, num(0), nums(2, 2), nums(3, 1)), format.ErrCorrupt, "element 4 of a storage of 4")
	beside("strides of 2^63-1", v2(four, num(0), nums(2, 2), tup(huge, huge)), format.ErrCorrupt, "leaves its storage")
	beside("an offset of 2^63-1", v2(four, huge, nums(1), nums(1)), format.ErrCorrupt, "")
	beside("an offset that is a float", v2(four, float(0), nums(1), nums(1)), format.ErrCorrupt, "")
	beside("an offset that is True", v2(four, "\x88", nums(1), nums(1)), format.ErrCorrupt, "")
	beside("an offset of 128 bits", v2(four, "\x8a\x10"+strings.Repeat("\x01", 16), nums(1), nums(1)), format.ErrCorrupt, "")
	beside("a dim of 128 bits", v2(four, num(0), tup("\x8a\x10"+strings.Repeat("\x01", 16)), nums(1)), format.ErrCorrupt, "")
	beside("no elements far beyond the storage", v2(four, huge, nums(0), nums(1)), nil, "")
	beside("no elements beside a huge dim", v2(four, num(0), tup(num(0), huge), nums(1, 1)), format.ErrCorrupt, "overflows")
	beside("no elements beside two huge dims", v2(four, num(0), tup(num(0), huge, huge), nums(1, 1, 1)), format.ErrCorrupt, "")
	beside("a shape in itself", v2(four, num(0), "]q\x05h\x05\x85q\x06", nums(1)), format.ErrCorrupt, "")

	for _, name := range []string{"_rebuild_qtensor", "_rebuild_sparse_tensor", "_rebuild_sparse_csr_tensor", "_rebuild_nested_tensor", "_rebuild_meta_tensor_no_storage", "_rebuild_wrapper_subclass"} {
		beside(name+" of nothing", get("torch._utils", name)+")R", nil, "not shown: 1 of type")
		beside(name+" of numbers that overflow", call("torch._utils", name, huge, huge, tup(huge, huge)), nil, "not shown: 1 of type")
	}
	beside("_rebuild_from_type_v2 of nothing", get("torch._tensor", "_rebuild_from_type_v2")+")R", nil, "")
	beside("_rebuild_from_type_v2 of a text", call("torch._tensor", "_rebuild_from_type_v2", str("f"), str("g"), ")", "N"), nil, "")
	beside("_load_from_bytes of nothing", get("torch.storage", "_load_from_bytes")+")R", nil, "")
	beside("a frame that ends in an opcode", "\x95\x01\x00\x00\x00\x00\x00\x00\x00"+num(7), nil, "")
	beside("PROTO in the middle", "\x80\x02"+num(7), nil, "")
	beside("protocol 6 in the middle", "\x80\x06"+num(7), format.ErrUnsupported, "protocol 6")
	add("out-of-band buffers", "\x80\x05\x97\x98.", format.ErrUnsupported, "a buffer that is not in the file")

	array := func(state string) string {
		return call("numpy.core.multiarray", "_reconstruct", get("numpy", "ndarray"), nums(0), "C\x01b") + state + "b"
	}
	f4 := call("numpy", "dtype", str("f4"), "\x89", "\x88") + tup(num(3), str("<"), "N", "N", "N") + "b"
	beside("an array of more than its bytes", array(tup(num(1), nums(2), f4, "\x89", "C\x04abcd")), format.ErrCorrupt, "4 are stored")
	beside("an array of less than its bytes", array(tup(num(1), nums(1), f4, "\x89", "C\x08abcdefgh")), format.ErrCorrupt, "8 are stored")
	beside("an array of -1 elements", array(tup(num(1), nums(-1), f4, "\x89", "C\x00")), format.ErrCorrupt, "")
	beside("an array of 2^126 elements", array(tup(num(1), tup(huge, huge), f4, "\x89", "C\x00")), format.ErrCorrupt, "")
	beside("an array in itself", array("q\x05"+tup(num(1), nums(1), call("numpy", "dtype", str("O"), "\x89", "\x88"), "\x89", "](h\x05e")), nil, "")
	beside("a scalar of too few bytes", call("numpy.core.multiarray", "scalar", f4, "C\x01a"), nil, "")
	return list
}

// TestHostile opens files of which one thing is wrong, from memory: each is refused with the sentinel, or opens with its
// tensor. None takes more memory than a limit that its size justifies.
func TestHostile(t *testing.T) {
	for _, tt := range append(hostileArchives(t), hostilePickles(t)...) {
		t.Run(tt.name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			m, err := openBytes(tt.file, nil)
			runtime.ReadMemStats(&after)
			most := uint64(32<<20 + 64*len(tt.file))
			if got := after.TotalAlloc - before.TotalAlloc; got > most {
				t.Errorf("%d bytes were allocated for a file of %d", got, len(tt.file))
			}
			if tt.want != nil {
				if err == nil {
					m.Close()
				}
				var e *tensor.Error
				if !errors.Is(err, tt.want) || !errors.As(err, &e) || !strings.Contains(err.Error(), tt.text) {
					t.Errorf("%.300v, want %v with %q", err, tt.want, tt.text)
				}
				return
			}
			expect.OK(t, err)
			defer m.Close()
			v, err := m.Tensor("w")
			expect.OK(t, err)
			b, err := v.Clone()
			expect.OK(t, err)
			expect.Equal(t, string(floats(4)), string(expect.Got(t, b.Bytes)))
			if notes := strings.Join(m.Notes(), "; "); !strings.Contains(notes, tt.text) {
				t.Errorf("notes %q, want %q", notes, tt.text)
			}
			_, err = m.Verify(t.Context(), nil)
			if !errors.Is(err, tt.later) {
				t.Errorf("Verify: %v, want %v", err, tt.later)
			}
		})
	}
}

// TestHostileCuts cuts archives at each byte: none opens.
func TestHostileCuts(t *testing.T) {
	for _, b := range [][]byte{archived(t, soundEntries()...), streamed(t)} {
		for n := range len(b) {
			m, err := openBytes(b[:n:n], nil)
			if err == nil {
				m.Close()
				t.Errorf("%d of %d bytes open", n, len(b))
			}
		}
	}
}
