package mobi

import (
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
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

// TestReadParams reads every type of parameter, including the two extensions.
func TestReadParams(t *testing.T) {
	b := with(func(m *image) {
		m.ops = [][]byte{op(31, []uint32{5, 5, 6}, []uint32{6, 6},
			param("a", 0, i32s(-2)...), param("b", 1, u64s(math.MaxUint64)...), param("c", 2, f32s(1.5)...),
			param("d", 3, u64s(math.Float64bits(-0.1))...), param("e", 4, 1), param("f", 4, 0),
			param("g", 5, array(i32s(1, -1), 4)...), param("h", 6, array(f32s(0.25), 4)...),
			param("i", 7, append(u32s(4), "a\x00é"...)...), param("j", 8, append(i32s(2), u64s(1<<40, 3)...)...),
			param("k", 5, i32s(0)...), param("l", 7, u32s(0)...),
		)}
	})
	f := openImage(t, b)
	ops := f.Operators()
	want := []Operator{{Type: 31, Inputs: []uint32{5, 5, 6}, Outputs: []uint32{6, 6}, Params: []Param{
		{"a", int32(-2)}, {"b", int64(-1)}, {"c", float32(1.5)}, {"d", -0.1}, {"e", true}, {"f", false},
		{"g", []int32{1, -1}}, {"h", []float32{0.25}}, {"i", "a\x00é"}, {"j", []int64{1 << 40, 3}}, {"k", []int32{}}, {"l", ""},
	}}}
	if d := cmp.Diff(want, ops); d != "" {
		t.Errorf("Operators (-want +got)\n%s", d)
	}
	if v, ok := ops[0].Param("c"); v != float32(1.5) || !ok {
		t.Errorf("Param(c) = %v, %v", v, ok)
	}
	if _, ok := ops[0].Param("none"); ok {
		t.Error("Param(none) exists")
	}
}

func TestValidate(t *testing.T) {
	good := small().bytes()
	// A broken gzip member opens, and only validation finds it.
	bad := more(recordOf(1, 0x8000, []uint64{1}, []byte{0x1F, 0x8B, 0}))
	path := filepath.Join(t.TempDir(), "m.mobi")
	for _, b := range [][]byte{good, bad} {
		if err := os.WriteFile(path, b, 0o644); err != nil {
			t.Fatal(err)
		}
		for _, err := range []error{Validate(path), ValidateBytes(b)} {
			if &b[0] == &good[0] && err != nil {
				t.Error(err)
			} else if &b[0] == &bad[0] {
				wantError(t, err, format.ErrCorrupt, "constant 1")
			}
		}
	}
	if err := Validate(path + ".none"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Validate of no file: %v", err)
	}
}

func TestCheckStructure(t *testing.T) {
	b := with(func(m *image) {
		m.spoil = func(b []byte) { b[8]++; b[len(b)-1]++ } // both checksums
	})
	if _, err := OpenBytes(b, nil); err == nil {
		t.Error("opens although the sums are wrong")
	}
	f, err := OpenBytes(b, &format.Options{Check: format.CheckStructure})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	v, _ := f.Constant(9)
	if got := floats(t, v); !cmp.Equal([]float32{1, -2}, got) {
		t.Errorf("constant 9 is %v", got)
	}
	wantError(t, verify(t, f), format.ErrChecksum, "footer")
	if _, err := v.Bytes(); err != nil {
		t.Errorf("after Verify failed: %v", err)
	}
}
