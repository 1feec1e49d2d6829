package wia

import (
	"bytes"
	"encoding/hex"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/codec"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/internal/messages"
)

// crowds lists graphs with many elements of one kind.
var crowds = []struct {
	what   string
	counts messages.Limit
	limit  int64
	elem   []byte                  // one element, encoded
	graph  func(all []byte) []byte // returns the graph around all elements
	others int64                   // further elements of the kind in the graph
}{
	{"nodes", messages.Nodes, 1 << 20, by(2), func(all []byte) []byte { return all }, 0},
	{"values", messages.Values, 1 << 20, by(3), func(all []byte) []byte { return all }, 0},
	{"values", messages.Values, 1 << 20, by(4), func(all []byte) []byte { return all }, 0},
	{"edges", messages.Edges, 1 << 23, by(3), func(all []byte) []byte { return by(2, all) }, 0},
	{"edges", messages.Edges, 1 << 23, by(4), func(all []byte) []byte { return by(2, all) }, 0},
	{"attributes", messages.Attributes, 1 << 21, by(5), func(all []byte) []byte { return by(2, all) }, 0},
	{"attributes", messages.Attributes, 1 << 21, by(10), func(all []byte) []byte { return by(2, by(5, all)) }, 1},
	{"attributes", messages.Attributes, 1 << 21, by(11), func(all []byte) []byte { return by(2, by(5, all)) }, 1},
	{"tensors", messages.Tensors, 1 << 22, by(5), func(all []byte) []byte { return all }, 0},
	{"dims", messages.Dims, 1 << 25, vi(2, 300), func(all []byte) []byte { return by(2, by(5, by(5, all))) }, 0},
	{"dims", messages.Dims, 1 << 25, []byte{0x80, 1}, func(all []byte) []byte { return by(5, by(2, all)) }, 0},
	{"value_dims", messages.ValueDims, 1 << 22, by(1), func(all []byte) []byte { return by(3, by(2, by(1, by(2, all)))) }, 0},
	{"strings", messages.Strings, 1 << 23, by(9), func(all []byte) []byte { return by(2, by(5, all)) }, 0},
	{"numbers", messages.Numbers, 1 << 26, []byte{0x80, 1}, func(all []byte) []byte { return by(2, by(5, by(8, all))) }, 0},
	{"numbers", messages.Numbers, 1 << 26, floats(1), func(all []byte) []byte { return by(2, by(5, by(7, all))) }, 0},
	{"numbers", messages.Numbers, 1 << 26, fl(7, 1), func(all []byte) []byte { return by(2, by(5, all)) }, 0},
	{"properties", messages.Properties, 1 << 20, by(1), func(all []byte) []byte { return by(6, all) }, 0},
	{"properties", messages.Properties, 1 << 20, by(2), func(all []byte) []byte { return by(5, by(6, all)) }, 0},
	{"nodes", messages.Nodes, 1 << 20, by(2), func(all []byte) []byte { return by(2, by(5, by(6, all[:6]), by(11, all[6:]))) }, 1},
}

// TestCrowds checks that each kind of element in a graph, including subgraphs, has
// a limit that is checked before anything is built. The test lowers the limits so
// that the graphs are small.
func TestCrowds(t *testing.T) {
	for _, c := range crowds {
		if got := messages.NewCounts().Max[c.counts]; got != c.limit {
			t.Errorf("the limit of %s is %d, want %d", c.what, got, c.limit)
		}
		for n := 7; n <= 8; n++ {
			counts := messages.NewCounts()
			counts.Max[c.counts] = 7 + c.others
			_, err := table.Check(typeGraph, string(c.graph(bytes.Repeat(c.elem, n))), counts)
			if n == 7 && err != nil {
				t.Errorf("%s: %d with a limit of as many: %v", c.what, n, err)
			}
			if n == 8 && (!errors.Is(err, format.ErrLimit) || !strings.HasSuffix(err.Error(), c.what)) {
				t.Errorf("%s: one more: %v", c.what, err)
			}
		}
	}
}

// TestCrowdOfNodes checks a limit in a file, plain and compressed, where the graph
// takes some kilobytes.
func TestCrowdOfNodes(t *testing.T) {
	graph := bytes.Repeat(by(2), 1<<20+1)
	for _, c := range []container{{graph: graph}, {compression: 1, meta: gz([]byte("{}")), graph: gz(graph)}} {
		_, err := openBytes(c.bytes(), &format.Options{MaxMemory: 1 << 30})
		checkError(t, err, format.ErrLimit, "graph.nodes[1048576]", int64(len(c.bytes())))
	}
	b := container{graph: graph[2:]}.bytes()
	mustOpen(t, b, &format.Options{MaxMemory: 1 << 30})
	expect.Refused(t, format.ErrLimit, "a graph that takes more than its file")(openBytes(b, nil))
}

// TestCrowdOfDims checks the limit on dims in a block that was compressed.
func TestCrowdOfDims(t *testing.T) {
	graph := by(5, cat(by(1, []byte("w")), by(2, bytes.Repeat([]byte{1}, 1<<21))))
	c := container{compression: 1, meta: gz([]byte("{}")), graph: gz(graph)}
	_, err := openBytes(c.bytes(), nil)
	checkError(t, err, format.ErrLimit, "graph.initializers[0].dims", int64(len(c.bytes())))
}

// TestInflationRatio checks that by default a small block cannot expand to a large
// one.
func TestInflationRatio(t *testing.T) {
	text := cat([]byte("{}"), bytes.Repeat([]byte{' '}, 17<<20))
	graph := by(1, bytes.Repeat([]byte{' '}, 17<<20))
	for what, c := range map[string]container{
		"metadata": {compression: 1, meta: gz(text), graph: gz(nil)},
		"graph":    {compression: 1, meta: gz([]byte("{}")), graph: gz(graph)},
	} {
		b := c.bytes()
		if codec.SectionLimit(int64(len(b)), maxGraph) >= 17<<20 {
			t.Fatalf("%s: %d bytes", what, len(b))
		}
		expect.Refused(t, format.ErrLimit, what)(openBytes(b, nil))
	}
}

// TestInflated: long texts that compress well are no attack.
func TestInflated(t *testing.T) {
	random := make([]byte, 512)
	_, _ = rand.NewChaCha8([32]byte{}).Read(random)
	text := []byte(`{"a":"` + strings.Repeat(hex.EncodeToString(random), 20<<10) + `"}`)
	b := container{compression: 1, meta: gz(text), graph: gz(nil)}.bytes()
	if len(b) > len(text)/32 || codec.SectionLimit(int64(len(b)), maxMetadata) < int64(len(text)) {
		t.Fatalf("compressed to %d of %d bytes", len(b), len(text))
	}
	if value, _ := expect.Got(t, mustOpen(t, b, nil).Metadata).Get("a"); value != string(text[6:len(text)-2]) {
		t.Error("another text")
	}
}

// TestInflationLimits: a section may inflate to 256 times what is stored, to 16 MiB in any case, and to
// a limit at most.
func TestInflationLimits(t *testing.T) {
	for _, c := range []struct{ stored, metadata, graph int64 }{
		{0, 16 << 20, 16 << 20}, {1 << 16, 16 << 20, 16 << 20}, {1<<16 + 1, 16<<20 + 256, 16<<20 + 256},
		{1 << 18, 64 << 20, 64 << 20}, {1 << 20, 64 << 20, 256 << 20}, {1 << 62, 64 << 20, 1 << 30},
	} {
		if m, g := codec.SectionLimit(c.stored, maxMetadata), codec.SectionLimit(c.stored, maxGraph); m != c.metadata || g != c.graph {
			t.Errorf("%d bytes stored: %d and %d, want %d and %d", c.stored, m, g, c.metadata, c.graph)
		}
	}
}
