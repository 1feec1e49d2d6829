package wia

import (
	"bytes"
	"testing"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/formattest"
	"github.com/weightmap/weightmap/internal/corpus"
	"github.com/weightmap/weightmap/internal/expect"
)

// exercise opens b and reads everything. Nothing may panic, and a file that opens must
// survive a rewrite.
func exercise(t *testing.T, b []byte) {
	f, err := openBytes(b, &format.Options{Key: testKey})
	if err != nil {
		return
	}
	defer f.Close()
	formattest.Walk(f.Model)
	if _, err := f.Graph(); err != nil {
		t.Fatalf("a graph that was checked: %v", err)
	}
	rewritten(t, f)
}

// rewritten writes f again and checks that the new file has the same content.
func rewritten(t *testing.T, f *File) {
	for _, v := range f.Tensors() {
		if _, err := v.Bytes(); err != nil {
			return // external data is missing, or data does not decompress
		}
	}
	if len(f.f.externals) > 0 {
		return
	}
	var out bytes.Buffer
	o := &format.WriteOptions{Spool: format.SpoolMemory}
	expect.OK(t, rewriteTo(&out, f, o))
	g, err := openBytes(out.Bytes(), nil)
	expect.OK(t, err)
	defer g.Close()
	expect.OK(t, verify(g))
	was, errF := f.Native()
	now, errG := g.Native()
	if errF != nil || errG != nil || len(was.Kinds) != len(now.Kinds) {
		t.Fatalf("%v, %v: kinds %v, were %v", errF, errG, now, was)
	}
	expect.Equal(t, docsOf(t, f), docsOf(t, g))
	for name, v := range f.Tensors() {
		w, _ := g.Tensor(name)
		x, _ := v.Bytes()
		y, err := w.Bytes()
		if err != nil || !bytes.Equal(x, y) {
			t.Fatalf("%q differs: %v", name, err)
		}
	}
}

// seeds returns containers that reach much of the reader.
func seeds() []container {
	return []container{
		small(), odd(), {}, onlyGraph(nestedGraphs(3)), attr(by(5, inline("", 1, []byte{1, 2, 3, 4}, 1))), externally(st(1, "f"), vi(3, 4)),
	}
}

func FuzzContainer(f *testing.F) {
	corpus.Seed(f)
	f.Add(writeSample(f, tinySchema(), &format.WriteOptions{Key: testKey}))
	f.Add(writeSample(f, tinySchema(), &format.WriteOptions{Compression: "zstd", Signer: ecKey, Format: Format{CompressTensor: alternate}}))
	f.Fuzz(exercise)
}

func FuzzGraph(f *testing.F) {
	for _, c := range seeds() {
		f.Add(c.graph)
	}
	tensors := by(1, inline("w", 1, []byte{1, 2, 3, 4}, 1))
	f.Fuzz(func(t *testing.T, graph []byte) {
		exercise(t, container{graph: graph, tensor: tensors}.bytes())
	})
}

func FuzzTensors(f *testing.F) {
	for _, c := range seeds() {
		f.Add(c.tensor)
	}
	f.Fuzz(func(t *testing.T, tensors []byte) {
		exercise(t, container{tensor: tensors}.bytes())
	})
}
