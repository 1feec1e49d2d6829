package wia

import (
	"crypto/sha256"
	"fmt"
	"iter"
	"slices"
	"testing"

	"github.com/bufbuild/protocompile"
	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/codec"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/internal/messages"
	"github.com/weightmap/weightmap/tensor"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"
)

// schema compiles wia.proto.
func protoSchema(t testing.TB) protoreflect.FileDescriptor {
	t.Helper()
	c := protocompile.Compiler{Resolver: &protocompile.SourceResolver{ImportPaths: []string{"."}}}
	files, err := c.Compile(t.Context(), "wia.proto")
	expect.OK(t, err)
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

// described returns the description of a compiled message, whose field types are in types.
func described(d protoreflect.MessageDescriptor, types map[string]messages.Type) messages.Def {
	m := messages.Def{Name: nameOf(d)}
	for i := range d.Fields().Len() {
		f := d.Fields().Get(i)
		def := messages.Field{Name: string(f.Name()), Many: f.IsList()}
		switch f.Kind() {
		case protoreflect.Int32Kind, protoreflect.Int64Kind:
			def.Kind = messages.Int
		case protoreflect.EnumKind:
			def.Kind = messages.Enum
		case protoreflect.FloatKind:
			def.Kind = messages.Float
		case protoreflect.StringKind:
			def.Kind = messages.String
		case protoreflect.BytesKind:
			def.Kind = messages.Blob
		case protoreflect.MessageKind:
			def.Kind = messages.Nested
			def.Of = types[nameOf(f.Message())]
		}
		if o := f.ContainingOneof(); o != nil && o.Fields().Len() > 1 {
			m.OneOf |= 1 << f.Number()
		}
		for len(m.Fields) <= int(f.Number()) {
			m.Fields = append(m.Fields, messages.Field{})
		}
		m.Fields[f.Number()] = def
	}
	return m
}

// nameOf returns the name of a message, with that of the one that it is declared in.
func nameOf(d protoreflect.MessageDescriptor) string {
	name := string(d.FullName().Name())
	if p, ok := d.Parent().(protoreflect.MessageDescriptor); ok {
		return string(p.Name()) + "." + name
	}
	return name
}

// TestTablesMatchSchema: the table that the reader checks by is wia.proto.
func TestTablesMatchSchema(t *testing.T) {
	types := map[string]messages.Type{}
	got := map[string]messages.Def{}
	for i, d := range table[:typeNative] {
		if d.Name == "" {
			continue
		}
		types[d.Name] = messages.Type(i)
		for n := range d.Fields {
			f := &d.Fields[n]
			if f.Kind == messages.Name || f.Kind == messages.Ours {
				d.Fields = slices.Clone(d.Fields)
				d.Fields[n].Kind = messages.String
			}
		}
		d.Fields = slices.Clone(d.Fields)
		for n := range d.Fields {
			d.Fields[n].Use = 0
			d.Fields[n].Limit = 0
		}
		got[d.Name] = d
	}
	want := map[string]messages.Def{}
	var add func(list protoreflect.MessageDescriptors)
	add = func(list protoreflect.MessageDescriptors) {
		for i := range list.Len() {
			m := described(list.Get(i), types)
			want[m.Name] = m
			add(list.Get(i).Messages())
		}
	}
	add(protoSchema(t).Messages())
	expect.Equal(t, want, got)
}

// TestProtobufReads decodes every block we write with the protobuf runtime.
func TestProtobufReads(t *testing.T) {
	d := protoSchema(t)
	for name, o := range map[string]*format.WriteOptions{
		"plain":     nil,
		"tensors":   {Format: Format{CompressTensor: alternate}},
		"encrypted": {Key: testKey, Compression: "gzip"},
		"signed":    {Signer: rsaSigner},
	} {
		t.Run(name, func(t *testing.T) {
			file := writeSample(t, sampleSchema(t), o)
			f := mustOpen(t, file, &format.Options{Key: testKey})
			s := f.f.hdr.blocks[signatureBlock]
			graph := decode(t, d, "Graph", f.f.payloads[graphBlock].data)
			tensors := decode(t, d, "TensorData", tensorBlockOf(t, f))
			signatures := decode(t, d, "SignatureBlock", file[s.off:s.end()])
			for _, m := range []*dynamicpb.Message{graph, tensors, signatures} {
				knowsAll(t, m)
			}
			want, got := map[string]string{}, map[string]string{}
			for name, v := range f.Tensors() {
				b, err := v.Bytes()
				expect.OK(t, err)
				want[name] = fmt.Sprint(v.Shape(), b)
			}
			for record := range list(tensors, "tensors") {
				got[textOf(record, "name")] = fmt.Sprint(tensor.Shape(numbers(record, "dims")), record.Get(fieldOf(record, "raw_data")).Bytes())
			}
			for record := range list(tensors, "compressed_tensors") {
				inner := record.Get(fieldOf(record, "tensor")).Message()
				name := textOf(inner, "name")
				packed := record.Get(fieldOf(record, "compressed_data")).Bytes()
				b, err := codec.Data(codecs[record.Get(fieldOf(record, "compression")).Enum()], packed, record.Get(fieldOf(record, "uncompressed_size")).Int(), nil)
				expect.OK(t, err)
				got[name] = fmt.Sprint(tensor.Shape(numbers(inner, "dims")), b)
			}
			expect.Equal(t, want, got)
			var ops []string
			for node := range list(graph, "nodes") {
				ops = append(ops, textOf(node, "op_type"))
			}
			expect.Equal(t, []string{"Gemm"}, ops)
			blocks := map[string]string{}
			for sum := range list(signatures, "checksums") {
				blocks[textOf(sum, "block_type")] = string(sum.Get(fieldOf(sum, "sha256")).Bytes())
			}
			sums := map[string]string{}
			for i, name := range []string{"header", "metadata", "graph", "tensor"} {
				r := f.f.hdr.blocks[i]
				sum := sha256.Sum256(file[r.off:r.end()])
				sums[name] = string(sum[:])
			}
			expect.Equal(t, sums, blocks)
		})
	}
}

func fieldOf(m protoreflect.Message, name string) protoreflect.FieldDescriptor {
	return m.Descriptor().Fields().ByName(protoreflect.Name(name))
}

func textOf(m protoreflect.Message, name string) string { return m.Get(fieldOf(m, name)).String() }

func numbers(m protoreflect.Message, name string) (all []int64) {
	values := m.Get(fieldOf(m, name)).List()
	for i := range values.Len() {
		all = append(all, values.Get(i).Int())
	}
	return all
}

// list iterates over the messages in a field.
func list(m protoreflect.Message, name string) iter.Seq[protoreflect.Message] {
	return func(yield func(protoreflect.Message) bool) {
		values := m.Get(fieldOf(m, name)).List()
		for i := range values.Len() {
			if !yield(values.Get(i).Message()) {
				return
			}
		}
	}
}

// knowsAll checks that neither a message nor those in it have unknown fields.
func knowsAll(t *testing.T, m protoreflect.Message) {
	t.Helper()
	if b := m.GetUnknown(); len(b) > 0 {
		t.Errorf("%s: unknown fields % x", m.Descriptor().Name(), b)
	}
	m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case f.Kind() != protoreflect.MessageKind:
		case f.IsList():
			for i := range v.List().Len() {
				knowsAll(t, v.List().Get(i).Message())
			}
		default:
			knowsAll(t, v.Message())
		}
		return true
	})
}
