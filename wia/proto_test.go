package wia

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"testing"

	"github.com/bufbuild/protocompile"
	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/protobuf"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"
)

// schema compiles wia.proto.
func schema(t testing.TB) protoreflect.FileDescriptor {
	t.Helper()
	c := protocompile.Compiler{Resolver: &protocompile.SourceResolver{ImportPaths: []string{"."}}}
	files, err := c.Compile(t.Context(), "wia.proto")
	if err != nil {
		t.Fatal(err)
	}
	return files[0]
}

// decode unmarshals b with the protobuf runtime.
func decode(t testing.TB, d protoreflect.FileDescriptor, name string, b []byte) *dynamicpb.Message {
	t.Helper()
	m := dynamicpb.NewMessage(d.Messages().ByName(protoreflect.Name(name)))
	if err := proto.Unmarshal(b, m); err != nil {
		t.Fatalf("%s: the protobuf runtime: %v", name, err)
	}
	return m
}

// tables returns all messages that the reader knows, by name.
func tables() map[string]*protobuf.Message {
	all := map[string]*protobuf.Message{}
	var add func(m *protobuf.Message)
	add = func(m *protobuf.Message) {
		if m == nil || all[m.Name] != nil {
			return
		}
		all[m.Name] = m
		for _, f := range m.Fields {
			add(f.Message)
		}
	}
	for _, m := range []*protobuf.Message{graphMsg, tensorDataMsg, signatureBlockMsg} {
		add(m)
	}
	return all
}

// described turns a compiled message into a table.
func described(d protoreflect.MessageDescriptor) *protobuf.Message {
	m := &protobuf.Message{Name: string(d.FullName().Name())}
	if p, ok := d.Parent().(protoreflect.MessageDescriptor); ok {
		m.Name = string(p.Name()) + "." + m.Name
	}
	for i := range d.Fields().Len() {
		f := d.Fields().Get(i)
		def := protobuf.FieldDef{Name: string(f.Name()), Repeated: f.IsList()}
		switch f.Kind() {
		case protoreflect.Int32Kind, protoreflect.Int64Kind:
			def.Kind = protobuf.KindInt
		case protoreflect.EnumKind:
			def.Kind = protobuf.KindEnum
		case protoreflect.FloatKind:
			def.Kind = protobuf.KindFloat
		case protoreflect.StringKind:
			def.Kind = protobuf.KindString
		case protoreflect.BytesKind:
			def.Kind = protobuf.KindBytes
		case protoreflect.MessageKind:
			def.Kind = protobuf.KindMessage
		}
		if o := f.ContainingOneof(); o != nil && o.Fields().Len() > 1 {
			m.Arms |= 1 << f.Number()
		}
		for len(m.Fields) <= int(f.Number()) {
			m.Fields = append(m.Fields, protobuf.FieldDef{})
		}
		m.Fields[f.Number()] = def
	}
	return m
}

func TestTablesMatchSchema(t *testing.T) {
	d := schema(t)
	want := map[string]*protobuf.Message{}
	var add func(list protoreflect.MessageDescriptors)
	add = func(list protoreflect.MessageDescriptors) {
		for i := range list.Len() {
			m := described(list.Get(i))
			want[m.Name] = m
			add(list.Get(i).Messages())
		}
	}
	add(d.Messages())
	got := map[string]*protobuf.Message{}
	for name, m := range tables() {
		c := &protobuf.Message{Name: name, Arms: m.Arms}
		for _, f := range m.Fields {
			if f.Kind == protobuf.KindName || f.Kind == protobuf.KindOurs {
				f.Kind = protobuf.KindString
			}
			c.Fields = append(c.Fields, protobuf.FieldDef{Name: f.Name, Kind: f.Kind, Repeated: f.Repeated})
		}
		got[name] = c
	}
	if diff := gocmp.Diff(want, got, gocmp.AllowUnexported(protobuf.Message{}, protobuf.FieldDef{})); diff != "" {
		t.Error(diff)
	}
}

// noUnknown fails if the runtime found fields that the schema does not have.
func noUnknown(t *testing.T, where string, m protoreflect.Message) {
	t.Helper()
	if len(m.GetUnknown()) > 0 {
		t.Errorf("%s: unknown fields % x", where, m.GetUnknown())
	}
	m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		name := where + "." + string(f.Name())
		switch {
		case f.Kind() != protoreflect.MessageKind:
		case f.IsList():
			for i := range v.List().Len() {
				noUnknown(t, fmt.Sprintf("%s[%d]", name, i), v.List().Get(i).Message())
			}
		default:
			noUnknown(t, name, v.Message())
		}
		return true
	})
}

// combinations returns combinations of options that change the blocks.
func combinations(t testing.TB) map[string]*WriteOptions {
	return map[string]*WriteOptions{
		"plain":     nil,
		"blocks":    {Compression: Zstd},
		"tensors":   {CompressTensor: alternate},
		"encrypted": {Key: testKey, Compression: Gzip},
		"rsa":       {Signer: rsaKey(t)},
		"ecdsa":     {Signer: ecdsaKey(t)},
	}
}

// TestProtobufBothWays decodes every block we write with the protobuf runtime, and
// reads the blocks that the runtime encodes from the result.
func TestProtobufBothWays(t *testing.T) {
	d := schema(t)
	for name, o := range combinations(t) {
		t.Run(name, func(t *testing.T) {
			file := writeSample(t, samplePlan(t), o)
			f := mustOpen(t, file, &format.Options{Key: testKey})
			graph := decode(t, d, "Graph", f.f.graph.Win)
			tensors := decode(t, d, "TensorData", tensorBlockOf(t, f))
			s := f.f.hdr.blocks[signatureBlock]
			sig := decode(t, d, "SignatureBlock", file[s.off:s.end()])
			for where, m := range map[string]*dynamicpb.Message{"graph": graph, "tensor": tensors, "signature": sig} {
				noUnknown(t, where, m)
			}
			compareTensors(t, f, tensors)
			compareGraph(t, f, graph)

			// And back: blocks encoded by the runtime.
			again := func(m proto.Message) []byte {
				b, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
				if err != nil {
					t.Fatal(err)
				}
				return b
			}
			theirs := container{meta: f.f.meta.Win, graph: again(graph), tensor: again(tensors), compression: byte(f.f.hdr.compression)}
			if f.f.hdr.compression == Zstd {
				theirs.compression = 1
			}
			if theirs.compression == 1 {
				theirs.meta, theirs.graph = gz(theirs.meta), gz(theirs.graph)
			}
			compareFiles(t, f, mustOpen(t, theirs.bytes(), nil))
		})
	}
}

// compareTensors compares our tensors with those that the runtime read.
func compareTensors(t *testing.T, f *File, m *dynamicpb.Message) {
	t.Helper()
	type row struct {
		Name  string
		Dims  []int64
		DType int32
		Raw   []byte
	}
	get := func(m protoreflect.Message, name protoreflect.Name) protoreflect.Value {
		return m.Get(m.Descriptor().Fields().ByName(name))
	}
	rowOf := func(m protoreflect.Message) row {
		r := row{Name: get(m, "name").String(), DType: int32(get(m, "dtype").Enum()), Raw: get(m, "raw_data").Bytes()}
		list := get(m, "dims").List()
		for i := range list.Len() {
			r.Dims = append(r.Dims, list.Get(i).Int())
		}
		return r
	}
	var want, got []row
	list := get(m, "tensors").List()
	for i := range list.Len() {
		want = append(want, rowOf(list.Get(i).Message()))
	}
	list = get(m, "compressed_tensors").List()
	for i := range list.Len() {
		c := list.Get(i).Message()
		r := rowOf(get(c, "tensor").Message())
		v, _ := f.Tensor(r.Name)
		r.Raw, _ = v.Bytes() // other tests check decompression
		if get(c, "uncompressed_size").Int() != int64(len(r.Raw)) {
			t.Errorf("%s: uncompressed_size %v", r.Name, get(c, "uncompressed_size"))
		}
		want = append(want, r)
	}
	for _, v := range f.Tensors() {
		b, err := v.Bytes()
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, row{v.Name(), v.Shape(), codeOf(v.DType()), b})
	}
	byName := func(a, b row) int { return cmp.Compare(a.Name, b.Name) }
	slices.SortFunc(want, byName)
	slices.SortFunc(got, byName)
	if diff := gocmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Error(diff)
	}
}

// compareGraph encodes our graph message again and compares it with theirs.
func compareGraph(t *testing.T, f *File, theirs *dynamicpb.Message) {
	t.Helper()
	g, err := f.GraphMessage()
	if err != nil {
		t.Fatal(err)
	}
	ours := dynamicpb.NewMessage(theirs.Descriptor())
	if err := proto.Unmarshal(g, ours); err != nil {
		t.Fatal(err)
	}
	if !proto.Equal(theirs, ours) {
		t.Errorf("the graph differs:\n%v\n%v", theirs, ours)
	}
}

// compareFiles compares the content of two files.
func compareFiles(t *testing.T, a, b *File) {
	t.Helper()
	ga, errA := a.GraphMessage()
	gb, errB := b.GraphMessage()
	if errA != nil || errB != nil {
		t.Fatal(errA, errB)
	}
	if !bytes.Equal(ga, gb) {
		t.Errorf("the graph is\n%x, want\n%x", gb, ga)
	}
	if diff := gocmp.Diff(a.Metadata(), b.Metadata()); diff != "" {
		t.Error(diff)
	}
	if a.Len() != b.Len() {
		t.Errorf("%d and %d tensors", a.Len(), b.Len())
	}
	for name, v := range a.Tensors() {
		w, err := b.Tensor(name)
		va, errA := v.Bytes()
		vb, errB := w.Bytes()
		if err != nil || errA != nil || errB != nil || !bytes.Equal(va, vb) {
			t.Errorf("%s: %v %v %v", name, err, errA, errB)
		}
		ia, ib := v.Info(), w.Info()
		ia.Offset, ib.Offset = 0, 0
		if diff := gocmp.Diff(ia, ib); diff != "" {
			t.Error(diff)
		}
	}
}
