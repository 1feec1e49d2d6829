package wia

import (
	"testing"

	"github.com/bufbuild/protocompile"
	gocmp "github.com/google/go-cmp/cmp"
	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/expect"
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
	expect.Equal(t, want, got, gocmp.AllowUnexported(protobuf.Message{}, protobuf.FieldDef{}))
}

// TestProtobufReads decodes every block we write with the protobuf runtime.
func TestProtobufReads(t *testing.T) {
	d := schema(t)
	for name, o := range map[string]*WriteOptions{
		"plain":     nil,
		"tensors":   {CompressTensor: alternate},
		"encrypted": {Key: testKey, Compression: Gzip},
		"signed":    {Signer: rsaSigner},
	} {
		t.Run(name, func(t *testing.T) {
			file := writeSample(t, samplePlan(t), o)
			f := mustOpen(t, file, &format.Options{Key: testKey})
			s := f.f.hdr.blocks[signatureBlock]
			for message, b := range map[string][]byte{"Graph": f.f.payloads[graphBlock].Win, "TensorData": tensorBlockOf(t, f), "SignatureBlock": file[s.off:s.end()]} {
				if m := decode(t, d, message, b); len(m.GetUnknown()) > 0 {
					t.Errorf("%s: unknown fields % x", message, m.GetUnknown())
				}
			}
		})
	}
}
