package pickle

import (
	"encoding/binary"
	"runtime"
	"strings"
	"testing"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/wire"
)

// str pushes a string, num an integer, get a global.
func str(s string) string {
	return "X" + string(binary.LittleEndian.AppendUint32(nil, uint32(len(s)))) + s
}

func num(n int32) string { return "J" + string(binary.LittleEndian.AppendUint32(nil, uint32(n))) }

func get(module, name string) string { return "c" + module + "\n" + name + "\n" }

// machine returns a machine for a pickle, and its account.
func machine(code string, most int64) (*Machine, *driver.Memory) {
	memory := driver.NewMemory(most)
	return New(wire.NewRecord("", []byte(code), 0), 0, int64(len(code)), memory), memory
}

// heap returns the bytes of live objects.
func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// TestAccount: what the machine counts is at least what its values take, for each kind of value.
func TestAccount(t *testing.T) {
	const n = 20_000
	many := func(s string) string { return strings.Repeat(s, n) }
	var far strings.Builder
	for i := range n {
		far.WriteString("r" + string(binary.LittleEndian.AppendUint32(nil, uint32(1_000_000+3*i))))
	}
	var globals strings.Builder
	for i := range n {
		globals.WriteString(get("m", strings.Repeat("x", i%50)+string(rune('a'+i%26))+strings.Repeat("y", i%71)+string(binary.BigEndian.AppendUint16([]byte("z"), uint16(i|0x8080)))))
	}
	for name, code := range map[string]string{
		"None":               many("N"),
		"integers":           many(num(1 << 20)),
		"longs":              many("\x8a\x09\x00\x00\x00\x00\x00\x00\x00\x00\x01"),
		"decimals":           many("I12345\n"),
		"strings":            many(str("abcdefghijklmnop")),
		"lines":              many("Vabcdefghijklmnop\\u1234\n"),
		"quoted":             many("S'abcdefghijklmnop\\x00'\n"),
		"bytes":              many("C\x10abcdefghijklmnop"),
		"marks":              many("("),
		"empty tuples":       many(")"),
		"tuples of one":      many("N\x85"),
		"tuples of five":     many("(NNNNNt"),
		"a tuple in tuple":   "N" + many("\x85"),
		"lists":              many("]"),
		"a list in a list":   many("]") + strings.Repeat("a", n-1),
		"a long list":        "](" + many("N") + "e",
		"a list that grows":  "]" + many("Na"),
		"two lists":          "]q\x00]q\x01" + many("h\x00Na0h\x01Na0"),
		"dicts":              many("}"),
		"a long dict":        "}(" + many("NN") + "u",
		"sets":               many("(N\x91"),
		"a memo":             "N" + many("\x94"),
		"a memo of far keys": "N" + far.String(),
		"a global":           many(get("torch", "float32")),
		"globals":            globals.String(),
		"objects":            many(get("a", "B") + ")R"),
		"objects with all":   many(get("a", "B") + ")R}bNNsNa"),
		"persistent":         many("NQ"),
		"DUP":                "N" + many("2"),
	} {
		t.Run(name, func(t *testing.T) {
			before := heap()
			m, _ := machine("\x80\x02"+code, 1<<40)
			m.Run() // up to the end, where STOP is missing
			got := heap() - before
			runtime.KeepAlive(m)
			if got > m.charged+int64(len(code))+64<<10 || m.Left() > 0 {
				t.Errorf("%d bytes live, %d counted, %d of the pickle are left: %v", got, m.charged, m.Left(), m.Err())
			}
			t.Logf("%d live, %d counted", got, m.charged)
		})
	}
}
