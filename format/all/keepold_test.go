package all_test

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/internal/testhost"
	"github.com/weightmap/weightmap/tensor"
)

// saveTwo writes a model of two tensors, a and b, whose elements have a value.
func saveTwo(t *testing.T, path string, value float32, o *format.WriteOptions) {
	t.Helper()
	p := &schema.Schema{Tensors: []tensor.Info{list(tensor.Float32, "a", 4), list(tensor.Float32, "b", 4)}}
	w, err := format.Create(path, p, o)
	expect.OK(t, err)
	defer w.Abort()
	for _, info := range p.Tensors {
		v, err := tensor.Of(info.Name, info.Shape, slices.Repeat([]float32{value}, 4))
		expect.OK(t, err)
		b, err := v.Bytes()
		expect.OK(t, err)
		expect.OK(t, w.WriteTensor(info.Name, bytes.NewReader(b)))
	}
	expect.OK(t, w.Close())
}

// TestKeepOld: with KeepOld, as on network file systems, a reader of the old model finds all its files, also those that it opens late
// and by their names.
func TestKeepOld(t *testing.T) {
	testhost.NeedReplace(t)
	for _, tt := range []struct {
		name  string
		file  string // that is written to
		opens string
		o     format.WriteOptions
	}{
		{"shards", "model.safetensors", "model.safetensors.index.json", format.WriteOptions{MaxShard: 16}},
		{"onnx", "m.onnx", "m.onnx", format.WriteOptions{ExternalFrom: 1}},
		{"wia", "m.wia", "m.wia", format.WriteOptions{ExternalFrom: 1}},
	} {
		for _, keep := range []bool{false, true} {
			dir := t.TempDir()
			save := func(value float32) {
				o := tt.o
				o.KeepOld = keep
				saveTwo(t, filepath.Join(dir, tt.file), value, &o)
			}
			save(1)
			opens := filepath.Join(dir, tt.opens)
			old, err := format.Open(opens, nil)
			expect.OK(t, err)
			defer old.Close()
			kept := old.Files()
			want, err := copiesOf(open(t, opens, nil))
			expect.OK(t, err)
			save(2)
			save(3)
			got, err := copiesOf(old)
			if err != nil || !cmp.Equal(want, got) {
				t.Errorf("%s, keep %v: the old model has %q, %v, want %q", tt.name, keep, got, err, want)
			}
			for _, path := range kept[1:] {
				_, err := os.Stat(path)
				if keep != (err == nil) {
					t.Errorf("%s, keep %v: %s: %v", tt.name, keep, filepath.Base(path), err)
				}
			}
			v, err := open(t, dir, nil).Tensor("a")
			expect.OK(t, err)
			now, err := tensor.Decode[float32](nil, v)
			expect.OK(t, err)
			expect.Equal(t, []float32{3, 3, 3, 3}, now)
		}
	}
}

// TestKeepOldOfOtherKind: with KeepOld or NoSync a directory opens the new model, whatever kind it replaces. The path of a file that shards
// replace opens the old one.
func TestKeepOldOfOtherKind(t *testing.T) {
	value := func(path string) []float32 {
		v, err := open(t, path, nil).Tensor("a")
		expect.OK(t, err)
		b, err := tensor.Decode[float32](nil, v)
		expect.OK(t, err)
		return b
	}
	for _, base := range []string{"model", "other"} {
		for _, o := range []format.WriteOptions{{KeepOld: true}, {NoSync: true}} {
			dir := t.TempDir()
			file := filepath.Join(dir, base+".safetensors")
			for i, shard := range []int64{0, 4, 0, 4, 4, 0} {
				o.MaxShard = 4 * shard
				saveTwo(t, file, float32(i), &o)
				new := slices.Repeat([]float32{float32(i)}, 4)
				expect.Equal(t, new, value(dir))
				if shard == 0 {
					expect.Equal(t, new, value(file))
					continue
				}
				expect.Equal(t, new, value(file+".index.json"))
			}
		}
	}
}
