package mobi

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weightmap/weightmap/format"
)

func TestReadGolden(t *testing.T) {
	b := small().bytes()
	f := openImage(t, b)
	h := f.Header()
	if h.Magic != 0x4D4F4249 || h.Version != 1 || h.Flags != 0x8000_0001 || int(h.FileSize) != len(b) || h.MetadataOffset != 32 {
		t.Errorf("header %+v", h)
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
	var ids []uint32
	for id, v := range f.Constants() {
		if v.Name() != constantName(id) {
			t.Errorf("constant %d is named %q", id, v.Name())
		}
		ids = append(ids, id)
	}
	if d := cmp.Diff([]uint32{9, 7}, ids); d != "" {
		t.Errorf("ids (-want +got)\n%s", d)
	}
	v, _ := f.Constant(9)
	if _, err := v.Digest(); err != nil {
		t.Fatal(err)
	}
}
