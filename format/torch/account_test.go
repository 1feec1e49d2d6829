package torch

import (
	"runtime"
	"strings"
	"testing"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/wire"
)

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
	tensor := tensorOf(store("Float", "0", 6), 0, nums(1, 1, 1), nums(1, 1, 1))
	for name, code := range map[string]string{
		"None":              many("N"),
		"integers":          many(num(1 << 20)),
		"longs":             many("\x8a\x05\x00\x00\x00\x00\x01"),
		"floats":            many(float(1.5)),
		"strings":           many(str("abcdefghijklmnop")),
		"empty strings":     many(str("")),
		"bytes":             many("C\x10abcdefghijklmnop"),
		"marks":             many("("),
		"empty tuples":      many(")"),
		"tuples of one":     many("N\x85"),
		"tuples of three":   many("NNN\x87"),
		"tuples of five":    many("(NNNNNt"),
		"a tuple in tuple":  "N" + many("\x85"),
		"lists":             many("]"),
		"a list in a list":  many("]") + strings.Repeat("a", n-1),
		"a long list":       "](" + many("N") + "e",
		"a list that grows": "]" + many("Na"),
		"dicts":             many("}"),
		"a long dict":       "}(" + many("NN") + "u",
		"a memo":            "N" + many("\x94"),
		"globals":           many(get("torch", "float32")),
		"storages":          many(store("Float", "0", 6)),
		"tensors":           many(tensor),
		"dtypes":            many(get("numpy", "dtype") + tup(str("f4"), "\x89", "\x88") + "R"),
		"devices":           many(get("torch", "device") + tup(str("cuda")) + "R"),
		"frozen sets":       many("(\x91"),
		"sets":              many("\x8f"),
		"a dict of pairs":   get("collections", "OrderedDict") + "](" + many("NN\x86") + "e\x85R",
	} {
		t.Run(name, func(t *testing.T) {
			b := []byte("\x80\x02" + code)
			memory := driver.NewMemory(1 << 40)
			before := heap()
			p := newPickle(wire.NewCursor("", b, 0), memory)
			p.next() // up to the end, where STOP is missing
			got := heap() - before
			runtime.KeepAlive(p)
			runtime.KeepAlive(b)
			if counted := p.charged; got > counted+64<<10 || p.c.Offset() != int64(len(b)) {
				t.Errorf("%d bytes live, %d counted, at %d of %d", got, counted, p.c.Offset(), len(b))
			}
			t.Logf("%d live, %d counted", got, p.charged)
		})
	}
}
