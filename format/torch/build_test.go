package torch

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"math"
	"strings"
	"testing"

	"github.com/weightmap/weightmap/internal/expect"
)

// code assembles a pickle from opcodes with their arguments.
func code(parts ...string) string { return strings.Join(parts, "") }

// pickled returns a pickle of protocol 2.
func pickled(parts ...string) string { return "\x80\x02" + code(parts...) + "." }

// str pushes a string, num an integer, get a global.
func str(s string) string {
	return "X" + string(binary.LittleEndian.AppendUint32(nil, uint32(len(s)))) + s
}

func num(n int32) string { return "J" + string(binary.LittleEndian.AppendUint32(nil, uint32(n))) }

func get(module, name string) string { return "c" + module + "\n" + name + "\n" }

func float(f float64) string {
	return "G" + string(binary.BigEndian.AppendUint64(nil, math.Float64bits(f)))
}

// tup pushes a tuple of the values that parts push.
func tup(parts ...string) string { return "(" + code(parts...) + "t" }

func nums(n ...int32) string {
	var parts []string
	for _, x := range n {
		parts = append(parts, num(x))
	}
	return tup(parts...)
}

// dictOf pushes a dict of alternating keys and values.
func dictOf(parts ...string) string { return "}(" + code(parts...) + "u" }

const hooks = "ccollections\nOrderedDict\n)R"

// store pushes a storage of the ZIP container.
func store(class, key string, count int32) string { return oldStore(class, key, count) }

// oldStore pushes a storage of the legacy container; view is "N" or a tuple.
func oldStore(class, key string, count int32, view ...string) string {
	return tup(str("storage"), get("torch", class+"Storage"), str(key), str("cpu"), num(count), code(view...)) + "Q"
}

// tensorOf pushes a tensor over a storage.
func tensorOf(storage string, offset int32, shape, stride string) string {
	return get("torch._utils", "_rebuild_tensor_v2") + tup(storage, num(offset), shape, stride, "\x89", hooks) + "R"
}

// entryOf is an entry of an archive.
type entryOf struct {
	name   string
	data   []byte
	packed bool
}

// archived returns an archive whose entries begin at multiples of 64.
func archived(t testing.TB, entries ...entryOf) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, e := range entries {
		h := &zip.FileHeader{Name: e.name, Method: zip.Store, CRC32: crc32.ChecksumIEEE(e.data), CompressedSize64: uint64(len(e.data)), UncompressedSize64: uint64(len(e.data))}
		if e.packed {
			h = &zip.FileHeader{Name: e.name, Method: zip.Deflate}
			to, err := w.CreateHeader(h)
			if err == nil {
				_, err = to.Write(e.data)
			}
			expect.OK(t, err)
			continue
		}
		expect.OK(t, w.Flush())
		pad := (64 - (b.Len()+30+len(e.name)+4)%64) % 64
		h.Extra = append([]byte{'F', 'B', byte(pad), 0}, make([]byte, pad)...)
		to, err := w.CreateRaw(h)
		if err == nil {
			_, err = to.Write(e.data)
		}
		expect.OK(t, err)
	}
	expect.OK(t, w.Close())
	return b.Bytes()
}

// saved returns an archive with a pickle and storages with the keys 0, 1, and so on.
func saved(t testing.TB, pkl string, storages ...[]byte) []byte {
	t.Helper()
	entries := []entryOf{{"m/data.pkl", []byte(pkl), false}, {"m/byteorder", []byte("little"), false}}
	for i, s := range storages {
		entries = append(entries, entryOf{"m/data/" + string(rune('0'+i)), s, false})
	}
	return archived(t, append(entries, entryOf{"m/version", []byte("3\n"), false})...)
}

// oldMagic starts the legacy container.
const oldMagic = "\x80\x02" + legacyMagic

// legacy returns a legacy container: an object, the keys, and the storages after their counts.
func legacy(pkl string, keys []string, counts []int64, storages ...[]byte) []byte {
	var list []string
	for _, k := range keys {
		list = append(list, str(k))
	}
	b := []byte(oldMagic + pickled(num(1001)) + pickled(dictOf(str("little_endian"), "\x88")) + pkl + pickled("](", code(list...), "e"))
	for i, s := range storages {
		b = binary.LittleEndian.AppendUint64(b, uint64(counts[i]))
		b = append(b, s...)
	}
	return b
}

// floats returns 0, 1, 2, ... as float32.
func floats(n int) (b []byte) {
	for i := range n {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(float32(i)))
	}
	return b
}

func floatsOf(list ...float32) []byte {
	b, _ := binary.Append(nil, binary.LittleEndian, list)
	return b
}
