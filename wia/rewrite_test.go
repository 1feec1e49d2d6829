package wia

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/expect"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/dynamicpb"
)

// unknownFields returns an unknown field of each wire type.
func unknownFields() []byte { return cat(vi(77, -1), by(78, []byte("x")), fl(79, 2)) }

// odd returns a container with unknown fields in every message, and with all that
// a schema cannot hold.
func odd() container {
	u := unknownFields()
	quant := by(3, vi(1, 77), fl(2, 2), vi(4, 3), by(5, by(1, floats(1)), u), u)
	meta := by(6, st(1, "doc"), by(2, st(1, "k"), st(2, "v"), u), quant, u)
	value := func(name string) []byte {
		return cat(st(1, name), by(2, by(1, vi(1, 99), by(2, by(1, vi(1, -4), st(3, "BATCH"), u), by(1, st(2, "n")), u), u), st(6, "IMAGE"), u), st(3, "doc"), u)
	}
	sub := cat(st(1, "sub"), by(5, inline("own", 8, []byte{1}, 1), u), by(5, decl("w", 1, 1)), u)
	tensorAttr := cat(inline("t", 8, []byte{1, 2}, 2), meta, u)
	return container{
		meta: []byte("{ \"model_info\":{\"name\" : \"m\"},\n\"n\":1.50 }"),
		graph: cat(st(1, "g"), u,
			by(2, st(1, "n"), st(2, "Op"), st(3, ""), st(4, "y"), st(6, "doc"), st(7, "com.example"), u,
				by(5, st(1, "a"), vi(3, 0), st(13, "doc"), u),
				by(5, st(1, "b"), by(5, tensorAttr), vi(20, 4)),
				by(5, st(1, "c"), by(6, sub), vi(20, 5)),
				by(5, st(1, "d"), by(11, sub), by(11), vi(20, 10)),
				by(5, st(1, "e"), st(21, "outer"), vi(20, 1)),
				by(5, st(1, "f"), vi(20, 13)),
				by(5, st(1, "h"), by(9, []byte{0xff}), by(9), vi(20, 8))),
			by(2, vi(7, 5)),
			by(3, value("x")), by(4, value("y")),
			by(5, decl("w", 1, 1), meta, u), by(5, inline("carried", 8, []byte{9}, 1), meta, u),
			by(6, by(1, st(1, "k"), st(2, "v"), u), u)),
		tensor: cat(by(1, inline("w", 1, []byte{1, 2, 3, 4}, 1), meta, u), u,
			by(2, by(1, decl("z", 8, 4), meta, u), vi(2, 1), by(3, gz([]byte{1, 2, 3, 4})), vi(4, 4), u)),
		tail: u,
	}
}

// TestRewriteKeepsAll checks that unknown fields, and all that a schema cannot hold,
// survive a read-write cycle.
func TestRewriteKeepsAll(t *testing.T) {
	f := mustOpen(t, odd().bytes(), nil)
	for name, o := range map[string]*format.WriteOptions{
		"plain":      nil,
		"compressed": {Compression: "zstd", Format: Format{CompressTensor: alternate}},
		"encrypted":  {Key: testKey},
		"signed":     {Signer: ecKey},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			expect.OK(t, rewriteTo(&out, f, o))
			g := mustOpen(t, out.Bytes(), &format.Options{Key: testKey})
			expect.OK(t, verify(g))
			expect.Equal(t, f.f.payloads[metadataBlock].data, g.f.payloads[metadataBlock].data)
			sameGraph(t, f, g)
			compareRecords(t, f, g)
			if !bytes.HasSuffix(tensorBlockOf(t, g), unknownFields()) {
				t.Error("tensor block: unknown fields are lost")
			}
			one, errA := f.Native()
			other, errB := g.Native()
			if errA != nil || errB != nil {
				t.Fatal(errA, errB)
			}
			var names []string
			for _, k := range one.Kinds {
				names = append(names, k.Name)
			}
			expect.Equal(t, []string{"denotation", "ref_attr_name", "subgraph_initializers", "unknown_fields"}, names)
			expect.Equal(t, docsOf(t, f), docsOf(t, g))
			if len(other.Kinds) != len(names) {
				t.Errorf("kinds of the copy: %v", other.Kinds)
			}
			s := g.f.hdr.blocks[signatureBlock]
			if !bytes.Contains(out.Bytes()[s.off:s.end()], unknownFields()) {
				t.Error("signature block: unknown fields are lost")
			}
		})
	}
}

// TestRewriteKeepsAround checks that unknown fields of a CompressedTensor and of ExternalData are kept while the
// tensor is stored in the same way.
func TestRewriteKeepsAround(t *testing.T) {
	four, around, dir := []byte{1, 2, 3, 4}, st(90, "around"), t.TempDir()
	expect.OK(t, os.WriteFile(filepath.Join(dir, "x.bin"), four, 0o666))
	for name, tt := range map[string]struct {
		record []byte
		o      format.WriteOptions
	}{
		"compressed": {by(2, by(1, decl("z", 8, 4)), vi(2, 1), by(3, gz(four)), vi(4, 4), around), format.WriteOptions{Compression: "zstd"}},
		"external":   {by(1, decl("z", 8, 4), by(5, st(1, "x.bin"), vi(3, 4), around)), format.WriteOptions{ExternalFrom: 1}},
	} {
		f := mustOpen(t, container{tensor: tt.record}.bytes(), &format.Options{Dir: dir})
		for kept, o := range map[bool]*format.WriteOptions{true: &tt.o, false: {}} {
			path := filepath.Join(dir, fmt.Sprint(name, kept)+".wia")
			p, err := f.Schema()
			expect.OK(t, err)
			w, err := format.Create(path, p, o)
			expect.OK(t, err)
			expect.OK(t, w.WriteModel(f.Model))
			expect.OK(t, w.Close())
			g, err := Open(path, nil)
			expect.OK(t, err)
			defer g.Close()
			expect.OK(t, verify(g))
			if b := expect.Read(t, path); bytes.Contains(b, around) != kept {
				t.Errorf("%s: kept is not %v", name, kept)
			}
			b, err := g.At(0).Bytes()
			expect.OK(t, err)
			expect.Equal(t, four, b)
		}
	}
}

// compareRecords compares the records of two files and their data.
func compareRecords(t *testing.T, a, b *File) {
	t.Helper()
	for name := range a.Tensors() {
		var all [2][2][]byte
		for i, f := range []*File{a, b} {
			v, err := f.Tensor(name)
			expect.OK(t, err)
			data, err := v.Bytes()
			expect.OK(t, err)
			all[i] = [2][]byte{data, recordOf(t, f, name)}
		}
		if diff := gocmp.Diff(all[0], all[1]); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// sameGraph compares the graph of a file with that of its copy, where the data of
// initializers has moved to the tensor block.
func sameGraph(t *testing.T, a, b *File) {
	t.Helper()
	var list []*dynamicpb.Message
	for _, f := range []*File{a, b} {
		g := decode(t, protoSchema(t), "Graph", f.f.graph().data)
		fields := g.Descriptor().Fields()
		initializers := g.Mutable(fields.ByName("initializers")).List()
		for i := range initializers.Len() {
			one := initializers.Get(i).Message()
			one.Clear(one.Descriptor().Fields().ByName("raw_data"))
		}
		list = append(list, g)
	}
	expect.Equal(t, list[0], list[1], protocmp.Transform())
}

// rewriteTo copies a file to w, with other options.
func rewriteTo(w io.Writer, f *File, o *format.WriteOptions) error {
	p, err := f.Schema()
	if err != nil {
		return err
	}
	to, err := newWriter(w, p, o)
	if err != nil {
		return err
	}
	defer to.Abort()
	err = to.WriteModel(f.Model)
	if err != nil {
		return err
	}
	return to.Close()
}
