package npy

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/corpus"
	"github.com/weightmap/weightmap/internal/testhost"
	"github.com/weightmap/weightmap/tensor"
)

// array is a .npy file field by field.
type array struct {
	magic        string
	major, minor byte
	length       int64 // of the header, -1 for what it is
	header       string
	data         []byte
}

// npy is a good file of version 1.0.
func npy(header string, data []byte) array {
	return array{"\x93NUMPY", 1, 0, -1, header, data}
}

// bytes lays the file out. Headers that begin with a brace are padded to 64.
func (a array) bytes() []byte {
	prefix := 10
	if a.major > 1 {
		prefix = 12
	}
	text := a.header
	if strings.HasPrefix(text, "{") {
		text += strings.Repeat(" ", 63-(prefix+len(text))%64) + "\n"
	}
	n := a.length
	if n < 0 {
		n = int64(len(text))
	}
	if a.major > 1 {
		return put(nil, a.magic, a.major, a.minor, uint32(n), text, a.data)
	}
	return put(nil, a.magic, a.major, a.minor, uint16(n), text, a.data)
}

// dict is a header as NumPy writes it.
func dict(descr, fortran, shape string) string {
	return fmt.Sprintf("{'descr': '%s', 'fortran_order': %s, 'shape': %s, }", descr, fortran, shape)
}

// f32 is a good array of shape [2, 3] with the values 0 to 5.
func f32() array { return npy(dict("<f4", "False", "(2, 3)"), floats(6)) }

func floats(n int) (b []byte) {
	for i := range n {
		b = put(b, float32(i))
	}
	return b
}

func bigFloats(v ...float32) []byte {
	b, _ := binary.Append(nil, binary.BigEndian, v)
	return b
}

// ramp is n bytes 0, 1, 2 and so on.
func ramp(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i)
	}
	return b
}

// reversed turns the bytes of every word around.
func reversed(b []byte, word int) []byte {
	out := make([]byte, len(b))
	for i := range b {
		out[i] = b[i/word*word+word-1-i%word]
	}
	return out
}

// golden are arrays, and the tensor each of them is.
var golden = []struct {
	name  string
	file  array
	dtype string
	shape tensor.Shape
	data  []byte
	view  bool
}{
	{"float32", f32(), "float32", tensor.Shape{2, 3}, floats(6), true},
	{"version 2.0", func() array { a := f32(); a.major = 2; return a }(), "float32", tensor.Shape{2, 3}, floats(6), true},
	{"version 3.0", func() array { a := f32(); a.major = 3; return a }(), "float32", tensor.Shape{2, 3}, floats(6), true},
	{"scalar", npy(dict("<f8", "False", "()"), ramp(8)), "float64", tensor.Shape{}, ramp(8), true},
	{"vector", npy(dict("<i2", "False", "(3,)"), ramp(6)), "int16", tensor.Shape{3}, ramp(6), true},
	{"empty", npy(dict("<i8", "False", "(3, 0)"), nil), "int64", tensor.Shape{3, 0}, nil, true},
	{"bool", npy(dict("|b1", "False", "(2,)"), []byte{1, 0}), "bool", tensor.Shape{2}, []byte{1, 0}, true},
	{"int8", npy(dict("|i1", "False", "(4,)"), ramp(4)), "int8", tensor.Shape{4}, ramp(4), true},
	{"int8, big-endian", npy(dict(">i1", "False", "(4,)"), ramp(4)), "int8", tensor.Shape{4}, ramp(4), true},
	{"int32", npy(dict("<i4", "False", "(4,)"), ramp(16)), "int32", tensor.Shape{4}, ramp(16), true},
	{"uint8", npy(dict("|u1", "False", "(4,)"), ramp(4)), "uint8", tensor.Shape{4}, ramp(4), true},
	{"uint16", npy(dict("<u2", "False", "(4,)"), ramp(8)), "uint16", tensor.Shape{4}, ramp(8), true},
	{"uint32", npy(dict("<u4", "False", "(4,)"), ramp(16)), "uint32", tensor.Shape{4}, ramp(16), true},
	{"uint64", npy(dict("<u8", "False", "(4,)"), ramp(32)), "uint64", tensor.Shape{4}, ramp(32), true},
	{"float16", npy(dict("<f2", "False", "(4,)"), ramp(8)), "float16", tensor.Shape{4}, ramp(8), true},
	{"complex64", npy(dict("<c8", "False", "(2,)"), ramp(16)), "complex64", tensor.Shape{2}, ramp(16), true},
	{"complex64, big-endian", npy(dict(">c8", "False", "(2,)"), ramp(16)), "complex64", tensor.Shape{2}, reversed(ramp(16), 4), false},
	{"complex128", npy(dict("<c16", "False", "(2,)"), ramp(32)), "complex128", tensor.Shape{2}, ramp(32), true},
	{"complex128, big-endian", npy(dict(">c16", "False", "(2,)"), ramp(32)), "complex128", tensor.Shape{2}, reversed(ramp(32), 8), false},
	{"order of the host", npy(dict("=u2", "False", "(2,)"), ramp(4)), "uint16", tensor.Shape{2}, ramp(4), true},
	{"order not applicable", npy(dict("|u2", "False", "(2,)"), ramp(4)), "uint16", tensor.Shape{2}, ramp(4), true},
	{"no order", npy(dict("u2", "False", "(2,)"), ramp(4)), "uint16", tensor.Shape{2}, ramp(4), true},
	{"long name", npy(dict("float64", "False", "(1,)"), ramp(8)), "float64", tensor.Shape{1}, ramp(8), true},
	{"big-endian", npy(dict(">f4", "False", "(3,)"), bigFloats(0, 1, 2)), "float32", tensor.Shape{3}, floats(3), false},
	{"Fortran, three dims", npy(dict("|u1", "True", "(2, 3, 2)"), []byte{0, 6, 2, 8, 4, 10, 1, 7, 3, 9, 5, 11}), "uint8", tensor.Shape{2, 3, 2}, ramp(12), false},
	{"Fortran, big-endian", npy(dict(">f4", "True", "(2, 2)"), bigFloats(0, 2, 1, 3)), "float32", tensor.Shape{2, 2}, floats(4), false},
	{"Fortran vector", npy(dict("<f4", "True", "(3,)"), floats(3)), "float32", tensor.Shape{3}, floats(3), true},
	{"Fortran row", npy(dict("<f4", "True", "(1, 3, 1)"), floats(3)), "float32", tensor.Shape{1, 3, 1}, floats(3), true},
	{"keys in another order, double quotes", npy(`{ "shape" : ( 2 , 3 , ) ,"fortran_order":False,`+"\n\t"+`"descr":"<f4"}`, floats(6)), "float32", tensor.Shape{2, 3}, floats(6), true},
	{"integers of Python 2", npy(dict("<f4", "False", "(2L, 3L)"), floats(6)), "float32", tensor.Shape{2, 3}, floats(6), true},
	{"signed integers", npy(dict("<f4", "False", "(+2, 3, -0)"), nil), "float32", tensor.Shape{2, 3, 0}, nil, true},
	{"64 dims", npy(dict("<f4", "False", "("+strings.Repeat("1, ", 64)+")"), floats(1)), "float32", slices.Repeat(tensor.Shape{1}, 64), floats(1), true},
}

// TestGolden: arrays are the same in archives, and viewed where they are stored as they are shown.
func TestGolden(t *testing.T) {
	for _, c := range golden {
		raw := c.file.bytes()
		for how, b := range map[string][]byte{"npy": raw, "npz": archiveOf(stored1("array", raw)).bytes(), "deflated": archiveOf(deflated1("array", raw)).bytes()} {
			f, err := openBytes(b, &format.Options{Check: format.CheckAll})
			if err != nil {
				t.Fatal(c.name, how, err)
			}
			defer f.Close()
			v, _ := f.Tensor("array")
			info, got := v.Info(), make([]byte, len(c.data))
			if _, err := v.ReadInto(got); err != nil || !bytes.Equal(got, c.data) || info.TypeName() != c.dtype || !info.Shape.Equal(c.shape) {
				t.Errorf("%s, %s: %v, %x, %v, want %x", c.name, how, info, got, err, c.data)
			}
			if how == "npy" && v.ZeroCopy() != (c.view && testhost.AsHost(info.DType.Size())) || (info.Compression == "deflate") != (how == "deflated") {
				t.Errorf("%s, %s: a view %v, %q", c.name, how, v.ZeroCopy(), info.Compression)
			}
		}
	}
}

// member1 is an entry of a ZIP archive, field by field. The local header is made of
// the same fields unless local changes them.
type member1 struct {
	name         string
	flags        uint16
	method       uint16
	sum          uint32
	packed, size uint32
	disk         uint16
	extra        []byte // of the record in the directory
	offset       uint32 // 0 for where it is
	comment      string
	data         []byte

	local      func(*member1)
	localExtra []byte
	descriptor []byte
	magic      string
}

func stored1(name string, data []byte) member1 {
	return member1{name: name + ".npy", sum: crc32.ChecksumIEEE(data), packed: uint32(len(data)), size: uint32(len(data)), data: data}
}

func deflated1(name string, data []byte) member1 {
	m := stored1(name, data)
	m.method, m.data = 8, corpus.Deflate(data)
	m.packed = uint32(len(m.data))
	return m
}

// end1 is the end record, and perhaps the zip64 records before it.
type end1 struct {
	disk, startDisk, here, count uint16
	size, off                    uint32
	comment                      string
	lengthMore                   int // added to the comment's length
	wide                         *wide1
}

type wide1 struct {
	disk, startDisk                uint32
	here, count, size, off, record uint64
	at                             uint64 // in the locator
	disks                          uint32
}

// zip1 is an archive.
type zip1 struct {
	prefix  []byte
	members []member1
	between []byte // between entries and directory
	behind  []byte // behind the directory
	end     func(*end1)
	tail    []byte
}

func archiveOf(m ...member1) zip1 { return zip1{members: m} }

// put appends the fields of a record, little-endian.
func put(b []byte, fields ...any) []byte {
	for _, f := range fields {
		switch v := f.(type) {
		case string:
			b = append(b, v...)
		default:
			b, _ = binary.Append(b, binary.LittleEndian, v)
		}
	}
	return b
}

func (z zip1) bytes() []byte {
	b := bytes.Clone(z.prefix)
	var dir []byte
	for _, m := range z.members {
		at := uint32(len(b))
		l := m
		l.magic = "PK\x03\x04"
		if m.local != nil {
			m.local(&l)
		}
		b = put(b, l.magic, uint16(20), l.common(), uint16(len(m.localExtra)), l.name, m.localExtra, m.data, m.descriptor)
		dir = put(dir, cmp.Or(m.magic, "PK\x01\x02"), uint16(20), uint16(20), m.common(), uint16(len(m.extra)), uint16(len(m.comment)), m.disk)
		dir = put(dir, make([]byte, 6), cmp.Or(m.offset, at), m.name, m.extra, m.comment)
	}
	b = append(b, z.between...)
	e := end1{here: uint16(len(z.members)), count: uint16(len(z.members)), size: uint32(len(dir)), off: uint32(len(b))}
	b = append(append(b, dir...), z.behind...)
	if z.end != nil {
		z.end(&e)
	}
	if w := e.wide; w != nil {
		at := uint64(len(b))
		b = put(b, "PK\x06\x06", 44+w.record, []byte{45, 0, 45, 0}, w.disk, w.startDisk, w.here, w.count, w.size, w.off)
		b = put(b, "PK\x06\x07\x00\x00\x00\x00", at+w.at, 1+w.disks)
	}
	b = put(b, "PK\x05\x06", e.disk, e.startDisk, e.here, e.count, e.size, e.off)
	return put(b, uint16(len(e.comment)+e.lengthMore), e.comment, z.tail)
}

// common returns the fields that both headers of an entry have.
func (m *member1) common() []byte {
	return put(nil, m.flags, m.method, []byte{0, 0, 0x21, 0}, m.sum, m.packed, m.size, uint16(len(m.name)))
}

// zip64 is an extra field with these values.
func zip64(v ...uint64) []byte { return put(nil, []byte{1, 0, byte(8 * len(v)), 0}, v) }

// toWide moves the fields of the end record to a zip64 record.
func toWide(e *end1) {
	e.wide = &wide1{here: uint64(e.here), count: uint64(e.count), size: uint64(e.size), off: uint64(e.off)}
	e.here, e.count, e.size, e.off = math.MaxUint16, math.MaxUint16, math.MaxUint32, math.MaxUint32
}

// archives change a good archive of one array, and differ from what NumPy writes to a file.
var archives = []struct {
	name   string
	change func(z *zip1, m *member1)
	note   string
}{
	{"plain", func(z *zip1, m *member1) {}, ""},
	{"comments", func(z *zip1, m *member1) {
		m.comment = "of the entry"
		z.end = func(e *end1) { e.comment = "of the archive PK\x05\x06" }
	}, ""},
	{"zip64 as NumPy writes it", func(z *zip1, m *member1) {
		m.localExtra = zip64(uint64(m.size), uint64(m.packed))
		m.local = func(l *member1) { l.size, l.packed = math.MaxUint32, math.MaxUint32 }
	}, ""},
	{"zip64 everywhere", func(z *zip1, m *member1) {
		*m = deflated1("x", f32().bytes())
		size, packed := m.size, m.packed
		m.localExtra = zip64(uint64(size), uint64(packed))
		m.local = func(l *member1) { l.size, l.packed = size, packed }
		m.extra = zip64(uint64(size), uint64(packed), 0)
		m.size, m.packed, m.offset = math.MaxUint32, math.MaxUint32, math.MaxUint32
		z.end = toWide
	}, ""},
	{"zip64 beside fields that say the same", func(z *zip1, m *member1) {
		m.extra = zip64(uint64(m.size), uint64(m.packed))
		m.localExtra = m.extra
		z.end = func(e *end1) {
			narrow := *e
			toWide(e)
			narrow.wide = e.wide
			*e = narrow
		}
	}, ""},
	{"data descriptor", func(z *zip1, m *member1) { *m = streamed(false, true) }, ""},
	{"data descriptor without signature", func(z *zip1, m *member1) { *m = streamed(false, false) }, ""},
	{"wide data descriptor", func(z *zip1, m *member1) { *m = streamed(true, true) }, ""},
	{"wide data descriptor without signature", func(z *zip1, m *member1) { *m = streamed(true, false) }, ""},
	{"other entries", func(z *zip1, m *member1) {
		readme, folder := stored1("", []byte("text")), stored1("", nil)
		readme.name, folder.name = "README", "folder/"
		readme.flags, readme.method = 1, 99
		*z = archiveOf(folder, readme, *m)
	}, `ignored, not .npy entries: ["folder/" "README"]`},
	{"gap", func(z *zip1, m *member1) { z.between = make([]byte, 100) }, ""},
	{"extra fields", func(z *zip1, m *member1) {
		m.localExtra = []byte{0x35, 0xd9, 4, 0, 64, 0, 0, 0, 0, 0}
		m.extra = []byte{'U', 'T', 1, 0, 7, 0, 0}
	}, ""},
}

// streamed is an entry whose writer did not know sizes and sum before.
func streamed(wide, signed bool) member1 {
	m := stored1("x", f32().bytes())
	m.flags |= 8
	m.local = func(l *member1) { l.sum, l.packed, l.size = 0, 0, 0 }
	if signed {
		m.descriptor = []byte("PK\x07\x08")
	}
	m.descriptor = put(m.descriptor, m.sum)
	if wide {
		m.descriptor = put(m.descriptor, uint64(m.size), uint64(m.size))
	} else {
		m.descriptor = put(m.descriptor, m.size, m.size)
	}
	return m
}

// TestEmptyBlocks opens a deflated array whose header begins behind 200 empty blocks.
func TestEmptyBlocks(t *testing.T) {
	x := deflated1("x", f32().bytes())
	x.data = append(bytes.Repeat([]byte{0, 0, 0, 0xff, 0xff}, 200), x.data...)
	x.packed = uint32(len(x.data))
	m, err := openBytes(archiveOf(x).bytes(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	v, err := m.Tensor("x")
	if err != nil {
		t.Fatal(err)
	}
	got, err := tensor.Decode[float32](nil, v)
	if want := []float32{0, 1, 2, 3, 4, 5}; err != nil || !slices.Equal(want, got) {
		t.Errorf("%v, %v, want %v", got, err, want)
	}
}

// TestLateHeader: a header that does not come in the compressed bytes that are read for it is a limit, not damage.
func TestLateHeader(t *testing.T) {
	x := deflated1("x", f32().bytes())
	x.data = append(bytes.Repeat([]byte{0, 0, 0, 0xff, 0xff}, 1<<19), x.data...)
	x.packed = uint32(len(x.data))
	_, err := openBytes(archiveOf(x).bytes(), nil)
	if !errors.Is(err, tensor.ErrLimit) {
		t.Error(err)
	}
}
