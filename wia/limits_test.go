package wia

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/weightmap/weightmap/format"
)

// crowds are graphs with many of one kind.
var crowds = []struct {
	what  string
	limit int
	elem  []byte                  // one element, as it stands in its message
	graph func(all []byte) []byte // the graph around all elements
}{
	{"nodes", maxNodes, by(2), func(all []byte) []byte { return all }},
	{"values", maxValues, by(4, st(2, "")), func(all []byte) []byte { return all }},
	{"inputs and outputs of nodes", maxEdges, by(3), func(all []byte) []byte { return by(2, all) }},
	{"attributes", maxAttributes - 1, by(11), func(all []byte) []byte { return by(2, by(5, st(1, "a"), all)) }},
	{"attributes", maxAttributes - 1, by(10), func(all []byte) []byte { return by(2, by(5, st(1, "a"), all)) }},
	{"tensors", format.DefaultMaxTensors, by(5), func(all []byte) []byte { return all }},
	{"dims of values", maxValueDims, by(1), func(all []byte) []byte { return by(3, by(2, by(1, by(2, all)))) }},
	{"packed dims", maxDims, []byte{1}, func(all []byte) []byte { return by(2, by(5, by(5, by(2, all)))) }},
	{"strings", maxStrings, by(9), func(all []byte) []byte { return by(2, by(5, st(1, "a"), all)) }},
	{"packed numbers", maxNumbers, []byte{1}, func(all []byte) []byte { return by(2, by(5, st(1, "a"), by(8, all))) }},
	{"properties", maxProperties, by(1), func(all []byte) []byte { return by(6, all) }},
}

// TestCrowds: each kind of thing in a graph has a limit of its own, which is
// checked before anything is built.
func TestCrowds(t *testing.T) {
	if testing.Short() {
		t.Skip("builds graphs of up to 128 MiB")
	}
	for _, c := range crowds {
		t.Run(c.what, func(t *testing.T) {
			name := strings.TrimPrefix(c.what, "packed ")
			b := container{graph: c.graph(bytes.Repeat(c.elem, c.limit+1))}.bytes()
			_, err := OpenBytes(b, nil)
			if !errors.Is(err, format.ErrLimit) || !strings.Contains(err.Error(), name) {
				t.Errorf("one more than %d: %v", c.limit, err)
			}
			// One fewer is counted and passes; what else is wrong with it is said.
			b = container{graph: c.graph(bytes.Repeat(c.elem, c.limit))}.bytes()
			if _, err := OpenBytes(b, nil); errors.Is(err, format.ErrLimit) {
				t.Errorf("%d: %v", c.limit, err)
			}
		})
	}
}

// TestCrowdOfDims: the tensor block has the same limit of dims, in one tensor and
// in all together.
func TestCrowdOfDims(t *testing.T) {
	one := by(2, bytes.Repeat([]byte{1}, maxDims+1))
	half := by(2, bytes.Repeat([]byte{1}, maxDims/2+1))
	for what, block := range map[string][]byte{
		"one":      by(1, st(1, "w"), vi(3, 8), by(4, []byte{1}), one),
		"together": cat(by(1, st(1, "v"), vi(3, 8), half, by(4, []byte{1})), by(1, st(1, "w"), vi(3, 8), half, by(4, []byte{1}))),
	} {
		b := container{tensor: block}.bytes()
		if _, err := OpenBytes(b, nil); !errors.Is(err, format.ErrLimit) {
			t.Errorf("%s: %v", what, err)
		}
		if _, err := OpenReaderAt(bytes.NewReader(b), int64(len(b)), nil); !errors.Is(err, format.ErrLimit) {
			t.Errorf("%s, behind a reader: %v", what, err)
		}
	}
}

// TestInflationRatio: by default a small block does not inflate to a large one.
func TestInflationRatio(t *testing.T) {
	text := cat([]byte("{}"), bytes.Repeat([]byte{' '}, 17<<20))
	graph := by(1, bytes.Repeat([]byte{' '}, 17<<20))
	for what, c := range map[string]container{
		"metadata": {compression: 1, meta: gz(text), graph: gz(nil)},
		"graph":    {compression: 1, meta: gz([]byte("{}")), graph: gz(graph)},
	} {
		b := c.bytes()
		if len(b) > 17<<20/inflationRatio {
			t.Fatalf("%s: %d bytes", what, len(b))
		}
		if _, err := OpenBytes(b, nil); !errors.Is(err, format.ErrLimit) {
			t.Errorf("%s: %v", what, err)
		}
		if _, err := OpenBytes(b, &format.Options{MaxMetadataBytes: 18 << 20, MaxGraphBytes: 18 << 20}); err != nil {
			t.Errorf("%s with limits of the caller's: %v", what, err)
		}
	}
}

// inflationRatio is that of the ruling.
const inflationRatio = 256
