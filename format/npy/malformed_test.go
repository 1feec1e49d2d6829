package npy

import (
	"bytes"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/weightmap/weightmap/format"
)

// malformedArray is the change to a good array, and the field and offset of the error.
type malformedArray struct {
	name   string
	mutate func(*array)
	field  string
	offset int64
}

// malformed breaks one thing at a time in a good array of shape [2, 3] float32.
var malformed = []struct {
	err   error
	cases []malformedArray
}{
	{format.ErrMagic, []malformedArray{{"magic", func(a *array) { a.magic = "\x93NUMPX" }, "magic", 0}}},
	{format.ErrVersion, []malformedArray{
		{"version 1.1", func(a *array) { a.minor = 1 }, "version", 6},
		{"version 4.0", func(a *array) { a.major = 4 }, "version", 6},
	}},
	{format.ErrTruncated, []malformedArray{
		{"header beyond the file", func(a *array) { a.length = 65535 }, "header length", 8},
		{"header of 4 GiB", func(a *array) { a.major, a.length = 2, math.MaxUint32 }, "header length", 8},
		{"more than the data", shape("(2, 4)"), "data", 152},
		{"2^60 elements", shape("(1152921504606846976,)"), "data", 152},
		{"one byte short", func(a *array) { a.data = a.data[:23] }, "data", 151},
	}},
	{format.ErrLimit, []malformedArray{
		{"header of 2 MiB", func(a *array) { a.major = 2; a.header += strings.Repeat(" ", 2<<20) }, "header length", 8},
		{"65 dims", shape("(" + strings.Repeat("1, ", 65) + ")"), "shape", 254},
	}},
	{format.ErrCorrupt, []malformedArray{
		{"header too short", func(a *array) { a.length = 20 }, "header", 27},
		{"no header", func(a *array) { a.length = 0 }, "header", 10},
		{"blanks alone", func(a *array) { a.header = strings.Repeat(" ", 100) }, "header", 110},
		{"an expression", func(a *array) { a.header = "__import__('os').system('true') or " + a.header }, "header", 10},
		{"an expression behind", func(a *array) { a.header += ".copy()" }, "header", 69},
		{"NUL padding", func(a *array) { a.header += "\x00" }, "header", 69},
		{"key missing", func(a *array) { a.header = "{'descr': '<f4', 'shape': (2, 3)}" }, "header", 64},
		{"empty dict", func(a *array) { a.header = "{}" }, "header", 64},
		{"key more", func(a *array) { a.header = strings.Replace(a.header, "{", "{'more': 1, ", 1) }, "header", 11},
		{"key twice", func(a *array) { a.header = strings.Replace(a.header, "{", "{'shape': (2, 3), ", 1) }, "header", 75},
		{"key is no string", func(a *array) { a.header = strings.Replace(a.header, "'descr'", "descr", 1) }, "header", 11},
		{"key in escapes", func(a *array) { a.header = strings.Replace(a.header, "'descr'", `'\x64escr'`, 1) }, "header", 11},
		{"string without end", func(a *array) { a.header = "{'descr': '<f4, " }, "descr", 20},
		{"dict without end", func(a *array) { a.header = strings.TrimSuffix(a.header, "}") }, "header", 128},
		{"colon missing", func(a *array) { a.header = strings.Replace(a.header, "'descr':", "'descr'", 1) }, "descr", 19},
		{"comma missing", func(a *array) { a.header = strings.Replace(a.header, "'<f4',", "'<f4'", 1) }, "descr", 26},
		{"two commas", func(a *array) { a.header = strings.Replace(a.header, "'<f4',", "'<f4',,", 1) }, "header", 26},
		{"descr is a type", descr("numpy.float32"), "descr", 20},
		{"fortran_order 1", func(a *array) { a.header = dict("<f4", "1", "(2, 3)") }, "fortran_order", 44},
		{"fortran_order Falsey", func(a *array) { a.header = dict("<f4", "Falsey", "(2, 3)") }, "fortran_order", 49},
		{"shape is a list", shape("[2, 3]"), "shape", 60},
		{"shape is a number in parentheses", shape("(6)"), "shape", 62},
		{"product", shape("(2*3,)"), "shape", 62},
		{"call", shape("(len('ab'), 3)"), "shape", 61},
		{"float", shape("(2.0, 3)"), "shape", 62},
		{"octal", shape("(02, 3)"), "shape", 63},
		{"True", shape("(True, 6)"), "shape", 61},
		{"comma alone", shape("(,)"), "shape", 61},
		{"comma missing in shape", shape("(2, 3 1)"), "shape", 66},
		{"shape without end", func(a *array) { a.header = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3" }, "shape", 128},
		{"L in version 3.0", func(a *array) { a.major = 3; a.header = dict("<f4", "False", "(2L, 3)") }, "shape", 64},
		{"negative dim", shape("(-2, -3)"), "shape", 63},
		{"dim of 2^63", shape("(9223372036854775808,)"), "shape", 79},
		{"dim of 2^64 + 2", shape("(18446744073709551618, 3)"), "shape", 80},
		{"product overflows to the size", shape("(4611686018427387906, 3, 4)"), "shape", 10},
		{"bytes overflow", shape("(4611686018427387904,)"), "shape", 10},
		{"product overflows beside 0", shape("(0, 4294967296, 4294967296)"), "shape", 10},
		{"less than the data", shape("(5,)"), "data", 128},
		{"one byte long", func(a *array) { a.data = append(a.data, 0) }, "data", 128},
		{"a second array", func(a *array) { a.data = append(a.data, f32().bytes()...) }, "data", 128},
	}},
	{format.ErrUnsupported, []malformedArray{
		{"concatenated strings", descr("'<' 'f4'"), "descr", 20},
		{"structured", descr("[('x', '<f4')]"), "descr", 20},
		{"object", descr("'|O'"), "pickle", 128},
		{"strings", descr("'<U5'"), "descr", 20},
		{"bytes", descr("'|S5'"), "descr", 20},
		{"date", descr("'<M8[ns]'"), "descr", 20},
		{"empty descr", descr("''"), "descr", 20},
		{"raw elements of a negative size", descr("'|V-4'"), "descr", 20},
		{"raw elements of an unknown size", descr("'|V4x'"), "descr", 20},
	}},
}

func descr(s string) func(*array) {
	return func(a *array) { a.header = strings.Replace(a.header, "'<f4'", s, 1) }
}

func shape(s string) func(*array) { return func(a *array) { a.header = dict("<f4", "False", s) } }

// badArchive is the change to a good archive, and the field and offset of the error.
type badArchive struct {
	name   string
	mutate func(z *zip1, x, y *member1)
	field  string
	offset int64
}

// badArchives break one thing at a time in a good archive of one stored and one
// deflated array.
var badArchives = []struct {
	err   error
	cases []badArchive
}{
	{format.ErrMagic, []badArchive{
		{"bytes before", func(z *zip1, x, y *member1) { z.prefix = []byte("#!/bin/sh\n") }, "magic", 0},
		{"entry is no array", func(z *zip1, x, y *member1) { *x = stored1("x", []byte("some text, longer than ten")) }, `entry "x.npy": magic`, 35},
	}},
	{format.ErrCorrupt, []badArchive{
		{"bytes before that look like an entry", func(z *zip1, x, y *member1) {
			z.prefix = []byte("PK\x03\x04")
			z.end = func(e *end1) { e.off -= 4 }
		}, "directory offset", 501},
		{"bytes behind", func(z *zip1, x, y *member1) { z.tail = []byte("more") }, "end of central directory", 507},
		{"comment too long", func(z *zip1, x, y *member1) { z.end = func(e *end1) { e.lengthMore = 5 } }, "end of central directory", 503},
		{"entries too many", func(z *zip1, x, y *member1) { z.end = func(e *end1) { e.here, e.count = 3, 3 } }, "entries", 491},
		{"entries too few", func(z *zip1, x, y *member1) { z.end = func(e *end1) { e.here, e.count = 1, 1 } }, "directory", 430},
		{"65535 entries", func(z *zip1, x, y *member1) { z.end = func(e *end1) { e.here, e.count = 65535, 65535 } }, "entries", 491},
		{"directory elsewhere", func(z *zip1, x, y *member1) { z.end = func(e *end1) { e.off, e.size = e.off+1, e.size-1 } }, "directory", 380},
		{"directory beyond the file", func(z *zip1, x, y *member1) { z.end = func(e *end1) { e.off = math.MaxUint32 } }, "directory offset", 497},
		{"bytes behind the directory", func(z *zip1, x, y *member1) { z.behind = []byte("gap") }, "directory offset", 500},
		{"zip64 count", wide(func(w *wide1) { w.count, w.here = 1<<60, 1<<60 }), "entries", 567},
		{"zip64 size", wide(func(w *wide1) { w.size = 1 << 63 }), "directory offset", 573},
		{"zip64 offset and size that wrap to the right end", wide(func(w *wide1) { w.off, w.size = 481+8, math.MaxUint64-7 }), "directory offset", 573},
		{"zip64 record length", wide(func(w *wide1) { w.record = 1 }), "zip64 record", 485},
		{"zip64 locator elsewhere", wide(func(w *wide1) { w.at = math.MaxUint64 }), "zip64 record", 480},
		{"zip64 locator far away", wide(func(w *wide1) { w.at = 1 << 62 }), "zip64 locator", 545},
		{"zip64 says more than the end", func(z *zip1, x, y *member1) {
			z.end = func(e *end1) { n := e.count; toWide(e); e.count = n + 1 }
		}, "entries", 481},
		{"zip64 says another size than the end", func(z *zip1, x, y *member1) {
			z.end = func(e *end1) { toWide(e); e.size = 7 }
		}, "directory size", 481},
		{"record magic", func(z *zip1, x, y *member1) { y.magic = "PK\x01\x03" }, "directory", 430},
		{"record cut", func(z *zip1, x, y *member1) {
			y.comment = "c"
			z.end = func(e *end1) { e.size--; e.off++ }
		}, "directory", 380},
		{"name twice", func(z *zip1, x, y *member1) { y.name = x.name }, `entry "x.npy": file name`, 476},
		{"no name", func(z *zip1, x, y *member1) { y.name = ".npy" }, `entry ".npy": file name`, 475},
		{"NUL in the name", func(z *zip1, x, y *member1) { y.name = "y\x00.npy" }, `entry "y\x00.npy": file name`, 477},
		{"name is not UTF-8", func(z *zip1, x, y *member1) { y.name = "\xff.npy" }, `entry "\xff.npy": file name`, 476},
		{"local magic", local(func(l *member1) { l.magic = "PK\x03\x05" }), `entry "y.npy": local header`, 187},
		{"local name", local(func(l *member1) { l.name = "z.npy" }), `entry "y.npy": local header`, 217},
		{"local name is longer", local(func(l *member1) { l.name = "yy.npy" }), `entry "y.npy": local header`, 217},
		{"local method", local(func(l *member1) { l.method = 0 }), `entry "y.npy": local header`, 195},
		{"local flags", local(func(l *member1) { l.flags = 1 }), `entry "y.npy": local header`, 193},
		{"local descriptor", local(func(l *member1) { l.flags = 8 }), `entry "y.npy": local header`, 193},
		{"local size", local(func(l *member1) { l.size++ }), `entry "y.npy": sizes`, 205},
		{"local packed size", local(func(l *member1) { l.packed-- }), `entry "y.npy": sizes`, 205},
		{"local sizes 0", local(func(l *member1) { l.packed, l.size = 0, 0 }), `entry "y.npy": sizes`, 205},
		{"local zip64 lies", func(z *zip1, x, y *member1) {
			y.localExtra = zip64(1<<40, uint64(y.packed))
			y.local = func(l *member1) { l.size, l.packed = math.MaxUint32, math.MaxUint32 }
		}, `entry "y.npy": sizes`, 205},
		{"local zip64 beside other sizes", func(z *zip1, x, y *member1) { y.localExtra = zip64(uint64(y.size)+1, uint64(y.packed)) }, `entry "y.npy": local zip64 field`, 222},
		{"local zip64 is short", func(z *zip1, x, y *member1) {
			y.localExtra = zip64(uint64(y.size))
			y.local = func(l *member1) { l.size, l.packed = math.MaxUint32, math.MaxUint32 }
		}, `entry "y.npy": local zip64 field`, 222},
		{"local extra field is cut", func(z *zip1, x, y *member1) { y.localExtra = []byte{1, 0, 16, 0, 0} }, `entry "y.npy": local zip64 field`, 222},
		{"zip64 lies", func(z *zip1, x, y *member1) { y.extra, y.size = zip64(1<<62), math.MaxUint32 }, `entry "y.npy": sizes`, 205},
		{"zip64 packed size lies", func(z *zip1, x, y *member1) { y.extra, y.packed = zip64(1<<62), math.MaxUint32 }, `entry "y.npy": sizes`, 450},
		{"zip64 offset lies", func(z *zip1, x, y *member1) { y.extra, y.offset = zip64(math.MaxUint64), math.MaxUint32 }, `entry "y.npy": offset`, 472},
		{"zip64 beside another size", func(z *zip1, x, y *member1) { y.extra = zip64(uint64(y.size), 1) }, `entry "y.npy": zip64 field`, 481},
		{"zip64 twice", func(z *zip1, x, y *member1) {
			y.extra = append(zip64(uint64(y.size)), zip64(uint64(y.size)+1)...)
			y.size = math.MaxUint32
		}, `entry "y.npy": zip64 field`, 481},
		{"zip64 has too much", func(z *zip1, x, y *member1) { y.extra = zip64(uint64(y.size), uint64(y.packed), 0, 0, 0) }, `entry "y.npy": zip64 field`, 481},
		{"zip64 is missing", func(z *zip1, x, y *member1) { y.size = math.MaxUint32; y.local = func(l *member1) { l.size = 152 } }, `entry "y.npy": sizes`, 205},
		{"stored of two sizes", func(z *zip1, x, y *member1) { x.size++ }, `entry "x.npy": sizes`, 399},
		{"entry larger than the array", func(z *zip1, x, y *member1) { *x = stored1("x", append(f32().bytes(), 0)) }, `entry "x.npy": data`, 163},
		{"entry smaller than the array", func(z *zip1, x, y *member1) { *x = stored1("x", f32().bytes()[:150]) }, `entry "x.npy": data`, 163},
		{"deflated entry smaller than the array", func(z *zip1, x, y *member1) { y.size-- }, `entry "y.npy": data`, 222},
		{"deflated garbage", func(z *zip1, x, y *member1) { y.data = bytes.Repeat([]byte{0xff}, len(y.data)) }, `entry "y.npy": header`, 222},
		{"bomb", func(z *zip1, x, y *member1) {
			*y = deflated1("y", npy(dict("<f8", "False", "(134217728,)"), nil).bytes())
			y.size = 128 + 1<<30
		}, `entry "y.npy": sizes`, 426},
		{"offset beyond the directory", func(z *zip1, x, y *member1) { y.offset = 1 << 30 }, `entry "y.npy": offset`, 472},
		{"offset so near the directory that no header fits", func(z *zip1, x, y *member1) { y.offset = 379 - 29 }, `entry "y.npy": offset`, 472},
		{"an array within another, both with headers beside their data", func(z *zip1, x, y *member1) {
			inner := archiveOf(stored1("y", f32().bytes())).bytes()
			*x = stored1("x", npy(dict("|u1", "False", "(187,)"), inner[:30+5+152]).bytes())
			*y = stored1("y", f32().bytes())
			y.offset = uint32(30 + 5 + bytes.Index(x.data, []byte("PK\x03\x04")))
		}, "offset", 630},
		{"descriptor is missing", func(z *zip1, x, y *member1) { *x = streamed(false, true); x.descriptor = nil }, `entry "x.npy": data descriptor`, 187},
		{"descriptor says another size", func(z *zip1, x, y *member1) {
			*x = streamed(false, true)
			x.descriptor[8]++
		}, `entry "x.npy": data descriptor`, 187},
	}},
	{format.ErrTruncated, []badArchive{
		{"no end", func(z *zip1, x, y *member1) {
			z.end = func(e *end1) { e.comment, e.lengthMore = strings.Repeat("c", 70000), -70000 }
		}, "end of central directory", 70503},
		{"empty entry", func(z *zip1, x, y *member1) { *x = stored1("x", nil) }, `entry "x.npy": header`, 35},
		{"entry of five bytes", func(z *zip1, x, y *member1) { *x = stored1("x", f32().bytes()[:5]) }, `entry "x.npy": header`, 40},
	}},
	{format.ErrUnsupported, []badArchive{
		{"disk", func(z *zip1, x, y *member1) { z.end = func(e *end1) { e.disk = 1 } }, "disk number", 485},
		{"start disk", func(z *zip1, x, y *member1) { z.end = func(e *end1) { e.startDisk = 1 } }, "disk number", 485},
		{"entries elsewhere", func(z *zip1, x, y *member1) { z.end = func(e *end1) { e.here = 1 } }, "disk number", 485},
		{"zip64 disk", wide(func(w *wide1) { w.disk = 1 }), "disk number", 561},
		{"zip64 disks", wide(func(w *wide1) { w.disks = 1 }), "zip64 locator", 553},
		{"record on another disk", func(z *zip1, x, y *member1) { x.disk = 1 }, `entry "x.npy": disk number`, 413},
		{"encrypted", func(z *zip1, x, y *member1) { x.flags = 1 }, `entry "x.npy": flags`, 387},
		{"strongly encrypted", func(z *zip1, x, y *member1) { x.flags = 1 << 6 }, `entry "x.npy": flags`, 387},
		{"patched", func(z *zip1, x, y *member1) { x.flags = 1 << 5 }, `entry "x.npy": flags`, 387},
		{"bzip2", func(z *zip1, x, y *member1) { x.method = 12 }, `entry "x.npy": method`, 389},
		{"Deflate64", func(z *zip1, x, y *member1) { y.method = 9 }, `entry "y.npy": method`, 440},
		{"zip64 disk of an entry", func(z *zip1, x, y *member1) {
			y.extra, y.disk = append([]byte{1, 0, 4, 0}, 1, 0, 0, 0), math.MaxUint16
		}, `entry "y.npy": disk number`, 464},
	}},
	{format.ErrUnknownFormat, []badArchive{{"no arrays", func(z *zip1, x, y *member1) { x.name, y.name = "notes.txt", "more.txt" }, "entries", 386}}},
}

func wide(change func(*wide1)) func(*zip1, *member1, *member1) {
	return func(z *zip1, _, _ *member1) {
		z.end = func(e *end1) {
			toWide(e)
			change(e.wide)
		}
	}
}

func local(change func(*member1)) func(*zip1, *member1, *member1) {
	return func(_ *zip1, _, y *member1) { y.local = change }
}

// pair is a good archive of one stored and one deflated array.
func pair() zip1 { return archiveOf(stored1("x", f32().bytes()), deflated1("y", f32().bytes())) }

// unsound are archives that open, since only what is packed is wrong.
var unsound = []struct {
	name   string
	mutate func(y *member1)
	err    error
}{
	{"sum in the directory", func(y *member1) { y.local = func(l *member1) { l.sum = y.sum }; *y = withSum(*y) }, format.ErrChecksum},
	{"sum beside the array", func(y *member1) { y.local = func(l *member1) { l.sum++ } }, format.ErrChecksum},
	{"stream is cut", func(y *member1) { y.data, y.packed = y.data[:len(y.data)-3], y.packed-3 }, format.ErrCorrupt},
	{"bytes behind the stream", func(y *member1) { y.data, y.packed = append(y.data, 0), y.packed+1 }, format.ErrCorrupt},
	{"stream holds more", func(y *member1) {
		m := deflated1("y", append(f32().bytes(), 9))
		m.size--
		*y = m
	}, format.ErrCorrupt},
	{"stream holds less", func(y *member1) {
		m := deflated1("y", f32().bytes()[:150])
		m.size += 2
		*y = m
	}, format.ErrCorrupt},
}

func withSum(m member1) member1 { m.sum ^= 1; return m }

// TestNeither: files of other formats are named as such by Open of this package.
func TestNeither(t *testing.T) {
	pickle, keras := archiveOf(stored1("", nil)), archiveOf(stored1("", nil), stored1("", nil))
	pickle.members[0].name, keras.members[0].name, keras.members[1].name = "archive/data.pkl", "metadata.json", "model.weights.h5"
	for text, says := range map[string]string{
		"TSR!....................": "magic", "PK\x03\x05 is no archive": "magic", "\x93NUMPZ\x01\x00": "magic", "\x01\x00\x00\x00\x00\x00\x00\x00": "magic",
		string(pickle.bytes()): "torch", string(keras.bytes()): "HDF5",
	} {
		if _, err := openBytes([]byte(text), nil); !errors.Is(err, format.ErrMagic) || !strings.Contains(err.Error(), says) {
			t.Errorf("%.20q: %v", text, err)
		}
	}
}
