package safetensors

import (
	"bytes"
	"encoding/binary"
	"errors"
	"strings"
	"testing"

	"github.com/weightmap/weightmap/format"
)

// base is a valid header, which the tests modify, of two tensors in six bytes.
const base = `{"__metadata__":{"k":"v"},"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"b":{"dtype":"I8","shape":[2],"data_offsets":[4,6]}}`

const (
	atA = 8 + 26 // offset of the key a
	atB = 8 + 79 // offset of the key b
)

// swap returns a function that replaces old in a header.
func swap(old, new string) func(string) string {
	return func(h string) string {
		if !strings.Contains(h, old) {
			panic("the header has no " + old)
		}
		return strings.Replace(h, old, new, 1)
	}
}

func all(h string) func(string) string { return func(string) string { return h } }

var malformedHeaders = []struct {
	name   string
	mutate func(string) string
	err    error
	field  string
	offset int64
}{
	{"empty header", all(""), format.ErrCorrupt, "header", 8},
	{"array", all("[]"), format.ErrCorrupt, "header", 8},
	{"byte order mark", all("\ufeff{}"), format.ErrCorrupt, "header", 8},
	{"NUL padding", swap("]}}", "]}}\x00"), format.ErrCorrupt, "header", 8 + int64(len(base))},
	{"two objects", swap("]}}", "]}}{}"), format.ErrCorrupt, "header", 8 + int64(len(base))},
	{"comma at the end", swap("]}}", "]},}"), format.ErrCorrupt, "header", 8 + int64(len(base))},
	{"comment", swap(",", ",/**/"), format.ErrCorrupt, "header", 8 + 26},
	{"control character", swap(`"a"`, "\"\n\""), format.ErrCorrupt, "header", atA + 1},
	{"invalid UTF-8 in a name", swap(`"a"`, "\"\xff\""), format.ErrCorrupt, "header", atA + 1},
	{"lone high surrogate", swap(`"a"`, `"\ud83d"`), format.ErrCorrupt, "header", atA + 1},
	{"lone low surrogate", swap(`"a"`, `"\ude00"`), format.ErrCorrupt, "header", atA + 1},
	{"lone surrogate in metadata", swap(`"v"`, `"\ud83dx"`), format.ErrCorrupt, "__metadata__", 30},
	{"invalid UTF-8 in metadata", swap(`"v"`, "\"\xc0\x80\""), format.ErrCorrupt, "__metadata__", 30},
	{"lone surrogate in a field that is ignored", swap(`"dtype"`, `"x":"\ud800","dtype"`), format.ErrCorrupt, `tensor "a"`, 44},

	{"no offsets of no elements", swap(`"shape":[1],"data_offsets":[0,4]}`, `"shape":[0]}`), format.ErrCorrupt, `tensor "a"`, atA},
	{"unknown dtype that ends before it begins", swap(`"F32","shape":[1],"data_offsets":[0,4]`, `"X9","shape":[1],"data_offsets":[4,0]`), format.ErrCorrupt, `tensor "a"`, atA},
	{"tensor twice", swap(`"b"`, `"a"`), format.ErrCorrupt, `tensor "a"`, atB},
	{"tensor twice, escaped", swap(`"b"`, `"\u0061"`), format.ErrCorrupt, `tensor "a"`, atB},
	{"__metadata__ twice", swap(`"a":{`, `"__metadata__":null,"a":{`), format.ErrCorrupt, "__metadata__", atA},
	{"metadata key twice", swap(`"v"`, `"v","\u006b":"w"`), format.ErrCorrupt, "__metadata__", 33},
	{"metadata number", swap(`"v"`, `1`), format.ErrCorrupt, "__metadata__", 29},
	{"metadata null value", swap(`"v"`, `null`), format.ErrCorrupt, "__metadata__", 29},
	{"metadata array", swap(`{"k":"v"}`, `["k"]`), format.ErrCorrupt, "__metadata__", 24},

	{"entry null", swap(`{"dtype":"I8","shape":[2],"data_offsets":[4,6]}`, `null`), format.ErrCorrupt, `tensor "b"`, atB + 4},
	{"no dtype", swap(`"dtype":"I8",`, ``), format.ErrCorrupt, `tensor "b"`, atB},
	{"no shape", swap(`"shape":[2],`, ``), format.ErrCorrupt, `tensor "b"`, atB},
	{"no data_offsets", swap(`,"data_offsets":[4,6]`, ``), format.ErrCorrupt, `tensor "b"`, atB},
	{"field twice", swap(`"shape":[2]`, `"shape":[2],"shape":[2]`), format.ErrCorrupt, `tensor "b"`, 117},
	{"field twice, escaped", swap(`"dtype":"I8"`, `"dtype":"I8","dtyp\u0065":"I8"`), format.ErrCorrupt, `tensor "b"`, 105},
	{"dtype number", swap(`"I8"`, `8`), format.ErrCorrupt, `tensor "b"`, 100},
	{"dtype empty", swap(`"I8"`, `""`), format.ErrCorrupt, `tensor "b"`, atB},
	{"shape number", swap(`[2]`, `2`), format.ErrCorrupt, `tensor "b"`, 113},
	{"dim float", swap(`[2]`, `[2.0]`), format.ErrCorrupt, `tensor "b"`, 114},
	{"dim with exponent", swap(`[2]`, `[2e0]`), format.ErrCorrupt, `tensor "b"`, 114},
	{"dim negative", swap(`[2]`, `[-2]`), format.ErrCorrupt, `tensor "b"`, 114},
	{"dim minus zero", swap(`[2]`, `[2,-0]`), format.ErrCorrupt, `tensor "b"`, 116},
	{"dim with a leading zero", swap(`[2]`, `[02]`), format.ErrCorrupt, `tensor "b"`, 114},
	{"dim 2^63", swap(`[2]`, `[9223372036854775808]`), format.ErrCorrupt, `tensor "b"`, 114},
	{"dim 2^64+2", swap(`[2]`, `[18446744073709551618]`), format.ErrCorrupt, `tensor "b"`, 114},
	{"product overflows", swap(`[2]`, `[4294967296,4294967296,2]`), format.ErrShape, `tensor "b"`, atB},
	{"product overflows with the element", swap(`[1]`, `[4611686018427387904]`), format.ErrShape, `tensor "a"`, atA},
	{"product overflows beside 0", swap(`[1]`, `[4611686018427387904,0,4]`), format.ErrShape, `tensor "a"`, atA},
	{"too many dims", swap(`[2]`, "["+strings.Repeat("1,", 1<<16)+"2]"), format.ErrLimit, `header`, 131186},

	{"offsets of one", swap(`[4,6]`, `[4]`), format.ErrCorrupt, `tensor "b"`, 117},
	{"offsets of three", swap(`[4,6]`, `[4,6,6]`), format.ErrCorrupt, `tensor "b"`, 117},
	{"offset negative", swap(`[4,6]`, `[-4,6]`), format.ErrCorrupt, `tensor "b"`, 133},
	{"offset 2^60", swap(`[4,6]`, `[4,1152921504606846976]`), format.ErrTruncated, `tensor "b"`, atB},
	{"end before begin", swap(`[4,6]`, `[6,4]`), format.ErrCorrupt, `tensor "b"`, atB},
	{"range too short", swap(`[4,6]`, `[4,5]`), format.ErrCorrupt, `tensor "b"`, atB},
	{"range too long", swap(`[2],"data_offsets":[4,6]`, `[1],"data_offsets":[4,6]`), format.ErrCorrupt, `tensor "b"`, atB},
	{"beyond the file", swap(`[2],"data_offsets":[4,6]`, `[3],"data_offsets":[4,7]`), format.ErrTruncated, `tensor "b"`, atB},
	{"bytes left", swap(`[2],"data_offsets":[4,6]`, `[1],"data_offsets":[4,5]`), format.ErrCorrupt, "data", 144},
	{"hole in front", swap(`"F32","shape":[1],"data_offsets":[0,4]`, `"U8","shape":[3],"data_offsets":[1,4]`), format.ErrCorrupt, `tensor "a"`, 139},
	{"hole between", swap(`"F32","shape":[1],"data_offsets":[0,4]`, `"U8","shape":[3],"data_offsets":[0,3]`), format.ErrCorrupt, `tensor "b"`, 142},
	{"overlap", swap(`[2],"data_offsets":[4,6]`, `[3],"data_offsets":[3,6]`), format.ErrCorrupt, `tensor "b"`, 142},
	{"same range", swap(`"I8","shape":[2],"data_offsets":[4,6]`, `"F32","shape":[1],"data_offsets":[0,4]`), format.ErrCorrupt, `tensor "b"`, 140},
	{"empty tensor within another", swap(`}}`, `},"c":{"dtype":"I8","shape":[0],"data_offsets":[2,2]}}`), format.ErrCorrupt, `tensor "c"`, 193},
	{"no tensors, but data", all(`{}`), format.ErrCorrupt, "data", 10},
	{"half a byte", swap(`"I8","shape":[2]`, `"F4","shape":[3]`), format.ErrShape, `tensor "b"`, atB},
	{"F4 of another size", swap(`"I8","shape":[2]`, `"F4","shape":[2]`), format.ErrCorrupt, `tensor "b"`, atB},
	{"unknown dtype, no bytes", swap(`}}`, `},"c":{"dtype":"Q","shape":[1],"data_offsets":[6,6]}}`), format.ErrCorrupt, `tensor "c"`, 139},
	{"unknown dtype, no elements", swap(`"I8","shape":[2]`, `"Q","shape":[0]`), format.ErrCorrupt, `tensor "b"`, atB},
	{"unknown dtype, product overflows", swap(`"I8","shape":[2]`, `"Q","shape":[4294967296,4294967296]`), format.ErrShape, `tensor "b"`, atB},
	{"128 levels", swap(`"dtype":"I8"`, `"x":`+strings.Repeat("[", 126)+strings.Repeat("]", 126)+`,"dtype":"I8"`), format.ErrCorrupt, `tensor "b"`, 221},
	{"a million levels", all(`{"x":{"y":` + strings.Repeat("[", 1<<20)), format.ErrCorrupt, `tensor "x"`, 143},
}

// badLength is a file with an invalid beginning.
type badLength struct {
	name   string
	file   []byte
	err    error
	field  string
	offset int64
}

// badLengths returns files with an invalid header length.
func badLengths() []badLength {
	good := fileOf(base, count(6)...)
	with := func(n uint64) []byte {
		b := bytes.Clone(good)
		binary.LittleEndian.PutUint64(b, n)
		return b
	}
	return []badLength{
		{"no bytes", nil, format.ErrTruncated, "header length", 0},
		{"seven bytes", good[:7], format.ErrTruncated, "header length", 0},
		{"length alone", good[:8], format.ErrTruncated, "header length", 0},
		{"length one too many", with(uint64(len(good)) - 7), format.ErrTruncated, "header length", 0},
		{"length 2^55", with(1 << 55), format.ErrTruncated, "header length", 0},
		{"length 2^64-1", with(1<<64 - 1), format.ErrTruncated, "header length", 0},
		{"length zero", with(0), format.ErrCorrupt, "header", 8},
		{"length one too few", with(uint64(len(base)) - 1), format.ErrCorrupt, "header", 8 + int64(len(base)) - 1},
	}
}

// TestLongestHeader opens a header of 100,000,000 bytes and refuses a longer one.
func TestLongestHeader(t *testing.T) {
	b := append(binary.LittleEndian.AppendUint64(nil, maxHeader+1), bytes.Repeat([]byte{' '}, maxHeader+1)...)
	copy(b[8:], `{}`)
	if _, err := OpenBytes(b, nil); !errors.Is(err, format.ErrLimit) {
		t.Error(err)
	}
	binary.LittleEndian.PutUint64(b, maxHeader)
	if _, err := OpenBytes(b[:8+maxHeader], nil); err != nil {
		t.Errorf("a header of the largest size: %v", err)
	}
}
