package mobi

import (
	"encoding/binary"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weightmap/weightmap/format"
)

func TestReadGolden(t *testing.T) {
	b := small().bytes()
	f := openImage(t, b)
	header := Header{
		Magic: 0x4D4F4249, Version: 1, Checksum: binary.LittleEndian.Uint32(b[8:]), Flags: 0x8000_0001,
		FileSize: uint32(len(b)), MetadataOffset: 32, TensorOffset: atTensors, GraphOffset: atGraph,
	}
	if d := cmp.Diff(header, f.Header()); d != "" {
		t.Errorf("Header (-want +got)\n%s", d)
	}
	if f.Name() != "modèl" || f.FrameworkVersion() != 0x0102 || f.Timestamp() != 1<<40 {
		t.Errorf("metadata %q %d %d", f.Name(), f.FrameworkVersion(), f.Timestamp())
	}
	want := format.Metadata{
		{Key: "name", Value: "modèl"}, {Key: "framework_version", Value: int64(0x0102)},
		{Key: "creation_timestamp", Value: int64(1) << 40}, {Key: "flags", Value: int64(0x8000_0001)},
	}
	if d := cmp.Diff(want, f.Metadata()); d != "" {
		t.Errorf("Metadata (-want +got)\n%s", d)
	}
	if d := cmp.Diff([]Spec{{"x", Float32, []uint64{Dynamic, 2}}}, f.Inputs()); d != "" {
		t.Errorf("Inputs (-want +got)\n%s", d)
	}
	if d := cmp.Diff([]Spec{{"y", 77, []uint64{}}}, f.Outputs()); d != "" {
		t.Errorf("Outputs (-want +got)\n%s", d)
	}
}
