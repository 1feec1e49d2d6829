package pickle

import (
	"errors"
	"strings"
	"testing"

	"github.com/weightmap/weightmap/tensor"
)

const (
	obj     = "ca\nB\n)R" // an object
	maxInt  = "\x8a\x08\xff\xff\xff\xff\xff\xff\xff\x7f"
	minInt  = "\x8a\x08\x00\x00\x00\x00\x00\x00\x00\x80"
	hugeLen = "\xff\xff\xff\xff\xff\xff\xff\xff"
)

// TestHostile runs pickles that no pickler writes. Most end without STOP, which is not reached.
func TestHostile(t *testing.T) {
	long := strings.Repeat("x", mostGlobal+1)
	for want, pickles := range map[error]map[string]struct{ code, text string }{
		tensor.ErrTruncated: {
			"nothing":                      {"", ""},
			"no STOP":                      {"N", ""},
			"PROTO":                        {"\x80", ""},
			"FRAME":                        {"\x95\x01\x00\x00", ""},
			"a frame beyond the end":       {"\x95\x02\x00\x00\x00\x00\x00\x00\x00N", "a frame of 2 bytes, 1 are left"},
			"a frame of all numbers":       {"\x95" + hugeLen, "a frame of"},
			"BININT":                       {"J\x01\x02\x03", ""},
			"BININT1":                      {"K", ""},
			"BININT2":                      {"M\x01", ""},
			"BINFLOAT":                     {"G\x01\x02\x03\x04\x05\x06\x07", ""},
			"LONG1":                        {"\x8a", ""},
			"LONG1 beyond the end":         {"\x8a\x02\x01", ""},
			"LONG4":                        {"\x8b\x01\x00\x00", ""},
			"LONG4 beyond the end":         {"\x8b\xff\xff\xff\x7f", ""},
			"LONG4 with a negative length": {"\x8b\xff\xff\xff\xff", ""},
			"SHORT_BINUNICODE":             {"\x8c\x02a", ""},
			"BINUNICODE":                   {"X\x02\x00\x00\x00a", ""},
			"BINUNICODE of 4 GiB":          {"X\xff\xff\xff\xffa", ""},
			"BINUNICODE8":                  {"\x8d" + hugeLen, ""},
			"BINUNICODE8 of 2^63":          {"\x8d\x00\x00\x00\x00\x00\x00\x00\x80", ""},
			"SHORT_BINSTRING":              {"U\x02a", ""},
			"BINSTRING":                    {"T\xff\xff\xff\xffa", ""},
			"SHORT_BINBYTES":               {"C\x02a", ""},
			"BINBYTES":                     {"B\xff\xff\xff\xffa", ""},
			"BINBYTES8":                    {"\x8e" + hugeLen, ""},
			"BYTEARRAY8":                   {"\x96" + hugeLen, ""},
			"BINPUT":                       {"Nq", ""},
			"LONG_BINPUT":                  {"Nr\x01\x00\x00", ""},
			"BINGET":                       {"h", ""},
			"LONG_BINGET":                  {"j\x00\x00\x00", ""},
			"INT":                          {"I12", ""},
			"LONG":                         {"L12L", ""},
			"FLOAT":                        {"F1.5", ""},
			"STRING":                       {"S'a'", ""},
			"UNICODE":                      {"Va", ""},
			"PUT":                          {"Np0", ""},
			"GET":                          {"g0", ""},
			"GLOBAL":                       {"ca\nb", ""},
			"GLOBAL without a name":        {"ca", ""},
			"INST":                         {"(ia\n", ""},
			"PERSID":                       {"Pa", ""},
		},
		tensor.ErrCorrupt: {
			"STOP of nothing":                {".", "a value is missing"},
			"two values":                     {"NN.", "1 values are left"},
			"a mark":                         {"(N.", "a value is missing|left"},
			"a mark below":                   {"N(0(.", "missing|left"},
			"POP of nothing":                 {"0", "a value is missing"},
			"POP below a mark":               {"N(00" + "0", "a value is missing"},
			"POP_MARK without a mark":        {"N1", "a mark is missing"},
			"DUP of nothing":                 {"2", "a value is missing"},
			"DUP of a mark":                  {"N(2", "a value is missing"},
			"TUPLE without a mark":           {"Nt", "a mark is missing"},
			"TUPLE1 of nothing":              {"\x85", "a value is missing"},
			"TUPLE2 of one":                  {"N\x86", "a value is missing"},
			"TUPLE3 of two":                  {"NN\x87", "a value is missing"},
			"TUPLE3 over a mark":             {"N(NN\x87", "a value is missing"},
			"LIST without a mark":            {"l", "a mark is missing"},
			"DICT without a mark":            {"d", "a mark is missing"},
			"DICT of one":                    {"(Nd", "1 keys and values"},
			"APPEND of nothing":              {"a", "a value is missing"},
			"APPEND to nothing":              {"Na", "a value is missing"},
			"APPEND to a dict":               {"}Na", `type "dict"`},
			"APPEND to a tuple":              {")Na", `type "tuple"`},
			"APPEND to None":                 {"NNa", `type "None"`},
			"APPEND to a class":              {"ca\nB\nNa", `type "a.B"`},
			"APPENDS without a mark":         {"]e", "a mark is missing"},
			"APPENDS to nothing":             {"(e", "a value is missing"},
			"APPENDS to a set":               {"\x8f(Ne", `type "set"`},
			"SETITEM of one":                 {"}Ns", "a value is missing"},
			"SETITEM of a list":              {"]NNs", `type "list"`},
			"SETITEMS without a mark":        {"}u", "a mark is missing"},
			"SETITEMS of three":              {"}(NNNu", "3 keys and values"},
			"SETITEMS of a tensor's storage": {"NQ(NNu", `type "storage"`},
			"ADDITEMS to a list":             {"](N\x90", `type "list"`},
			"ADDITEMS without a mark":        {"\x8f\x90", "a mark is missing"},
			"FROZENSET without a mark":       {"\x91", "a mark is missing"},
			"an unknown key":                 {"h\x00", "nothing is remembered as 0"},
			"a far key":                      {"Nq\x00j\xff\xff\xff\xff", "nothing is remembered as 4294967295"},
			"a key of the last pickle":       {"g7\n", "nothing is remembered as 7"},
			"a key that is a word":           {"gx\n", "no key of the memo"},
			"a negative key":                 {"Np-1\n", "no key of the memo"},
			"a key of 2^64":                  {"g18446744073709551616\n", "no key of the memo"},
			"PUT of nothing":                 {"q\x00", "a value is missing"},
			"MEMOIZE of nothing":             {"\x94", "a value is missing"},
			"REDUCE of nothing":              {"R", "a value is missing"},
			"REDUCE without a class":         {")R", "a value is missing"},
			"REDUCE of a text":               {"\x8c\x01x)R", `it calls a value of type "str"`},
			"REDUCE of a number":             {"K\x01)R", `it calls a value of type "int"`},
			"REDUCE of a list":               {"])R", `it calls a value of type "list"`},
			"REDUCE of None":                 {"N)R", `it calls a value of type "None"`},
			"REDUCE with a list":             {"ca\nB\n]R", "which is no tuple"},
			"REDUCE with None":               {"ca\nB\nNR", "which is no tuple"},
			"REDUCE over a mark":             {"ca\nB\n()R", "a value is missing"},
			"NEWOBJ of nothing":              {"\x81", "a value is missing"},
			"NEWOBJ of a dict":               {"})\x81", `it calls a value of type "dict"`},
			"NEWOBJ_EX of two":               {")}\x92", "a value is missing"},
			"NEWOBJ_EX without a dict":       {"ca\nB\n)]\x92", `arguments by name are a value of type "list"`},
			"INST without a mark":            {"ia\nb\n", "a mark is missing"},
			"OBJ without a mark":             {"o", "a mark is missing"},
			"OBJ without a class":            {"(o", "a value is missing"},
			"OBJ of a text":                  {"(\x8c\x01xo", `it calls a value of type "str"`},
			"BUILD of nothing":               {"b", "a value is missing"},
			"BUILD of a list":                {"]}b", `it sets the state of a value of type "list"`},
			"BUILD of a class":               {"ca\nB\n}b", `it sets the state of a value of type "a.B"`},
			"BUILD of a persistent value":    {"NQ}b", `it sets the state of a value of type "storage"`},
			"STACK_GLOBAL of numbers":        {"K\x01K\x02\x93", `types "int" and "int"`},
			"STACK_GLOBAL of one":            {"\x8c\x01a\x93", "a value is missing"},
			"STACK_GLOBAL of bytes":          {"C\x01aC\x01b\x93", `types "bytes" and "bytes"`},
			"STACK_GLOBAL with a long name":  {"\x8c\x01aX\x01\x04\x00\x00" + long + "\x93", "more than 1024 bytes"},
			"GLOBAL with a long module":      {"c" + long + "\nb\n", "more than 1024 bytes"},
			"GLOBAL with a long name":        {"ca\n" + long + "\n", "more than 1024 bytes"},
			"BINPERSID of nothing":           {"Q", "a value is missing"},
			"a text that is no UTF-8":        {"\x8c\x01\xff", "no UTF-8"},
			"half a surrogate":               {"\x8c\x02\xed\xa0", "no UTF-8"},
			"an overlong text":               {"\x8c\x02\xc0\x80", "no UTF-8"},
			"INT of a word":                  {"Ix\n", "is no integer"},
			"INT of nothing":                 {"I\n", "is no integer"},
			"INT of hexadecimal":             {"I0x10\n", "is no integer"},
			"LONG of a word":                 {"LxL\n", "is no integer"},
			"a number of 6,000 digits":       {"L" + strings.Repeat("9", 6000) + "L\n", "more than 5000 bytes"},
			"FLOAT of a word":                {"Fx\n", "is no float"},
			"FLOAT that overflows":           {"F1e999\n", "is no float"},
			"STRING without quotes":          {"Sabc\n", "is not quoted"},
			"STRING with one quote":          {"S'\n", "is not quoted"},
			"STRING with two kinds":          {"S'a\"\n", "is not quoted"},
			"STRING with half an escape":     {"S'\\x4'\n", "invalid syntax"},
			"UNICODE with half an escape":    {"V\\u12\n", "is no escape"},
			"UNICODE beyond Unicode":         {"V\\Uffffffff\n", "is no escape"},
		},
		tensor.ErrUnsupported: {
			"protocol 6":      {"\x80\x06", "protocol 6"},
			"protocol 255":    {"\x80\xff", "protocol 255"},
			"EXT1":            {"\x82\x01", "extension registry"},
			"EXT2":            {"\x83\x01\x00", "extension registry"},
			"EXT4":            {"\x84\x01\x00\x00\x00", "extension registry"},
			"NEXT_BUFFER":     {"\x97", "a buffer that is not in the file"},
			"READONLY_BUFFER": {"N\x98", "a buffer that is not in the file"},
			"opcode 0":        {"\x00", "0x0 is no opcode"},
			"opcode 0xff":     {"\xff", "0xff is no opcode"},
		},
		tensor.ErrLimit: {
			"a key of 2^31":  {"Nr\x00\x00\x00\x80", "keys of up to"},
			"lists":          {strings.Repeat("]", 4<<20), "MaxMemory"},
			"objects":        {"ca\nB\nq\x00" + strings.Repeat("h\x00)R", 2<<20), "MaxMemory"},
			"far keys":       {"N" + strings.Repeat("r\x00\x00\x00\x40r\x00\x00\x00\x41r\x00\x00\x00\x42", 1<<10) + strings.Repeat("]", 4<<20), "MaxMemory"},
			"marks":          {strings.Repeat("(", 64<<20), "MaxMemory"},
			"a list in each": {strings.Repeat("](N", 3<<20), "MaxMemory"},
		},
	} {
		for name, tt := range pickles {
			t.Run(name, func(t *testing.T) {
				most := int64(16 << 20)
				m, _ := machine(tt.code, most)
				m.Run()
				err := m.Err()
				found := false
				for _, text := range strings.Split(tt.text, "|") {
					found = found || err != nil && strings.Contains(err.Error(), text)
				}
				if !errors.Is(err, want) || !found {
					t.Errorf("%.300v, want %v with %q", err, want, tt.text)
				}
				if m.charged > most+most/2 {
					t.Errorf("%d bytes were counted", m.charged)
				}
				m.Release()
			})
		}
	}
}

// TestCuts cuts a pickle with all opcodes at each byte: nothing is a whole pickle before the end.
func TestCuts(t *testing.T) {
	all := "\x80\x05\x95\x00\x00\x00\x00\x00\x00\x00\x00(N\x88\x89K\x01M\x01\x02J\x01\x02\x03\x04I5\nI01\nL6L\n\x8a\x02\x01\x02\x8b\x01\x00\x00\x00\x07F1.5\nG\x3f\xf0\x00\x00\x00\x00\x00\x00" +
		"\x8c\x01aX\x01\x00\x00\x00b\x8d\x01\x00\x00\x00\x00\x00\x00\x00cVd\\u00e9\nU\x01eT\x01\x00\x00\x00fS'g\\n'\nC\x01hB\x01\x00\x00\x00i\x8e\x01\x00\x00\x00\x00\x00\x00\x00j\x96\x01\x00\x00\x00\x00\x00\x00\x00k" +
		"q\x00r\x01\x00\x00\x00p2\n\x94h\x00j\x01\x00\x00\x00g2\n" +
		"])N\x85NN\x86NNN\x87(NNt](NeNa(Nl}(NNuNNs(NNd\x8f(N\x90(N\x91N0(N1N2" +
		"ca\nB\n)R}bNNsNaca\nB\n)\x81ca\nB\n)}\x92\x8c\x01a\x8c\x01B\x93(Nia\nB\n(ca\nB\nNoNQPid\nl."
	m, _ := machine(all, 0)
	m.Run()
	if m.Err() != nil {
		t.Fatal(m.Err())
	}
	for n := range len(all) {
		m, memory := machine(all[:n], 1<<30)
		m.Run()
		if m.Err() == nil {
			t.Errorf("%d of %d bytes are a pickle", n, len(all))
		}
		m.Release()
		if memory.Left() != 1<<30 {
			t.Errorf("%d bytes: %d are still reserved", n, 1<<30-memory.Left())
		}
	}
}

// TestBytes changes each byte of a pickle with all opcodes to each value: nothing panics.
func TestBytes(t *testing.T) {
	code := []byte("\x80\x04(K\x01\x8c\x01aq\x00Vb\nS'c'\nC\x01dh\x00)N\x85](NeNa}(NNuNNs\x8f(N\x90ca\nB\n)R}bNNsNa\x8c\x01a\x8c\x01B\x93(Nia\nB\n(ca\nB\nNoNQPid\nt.")
	for i := range code {
		was := code[i]
		for b := range 256 {
			code[i] = byte(b)
			m, _ := machine(string(code), 1<<24)
			r := m.Run()
			_ = m.KindOf(r)
			_ = m.Note()
			m.Release()
		}
		code[i] = was
	}
}
