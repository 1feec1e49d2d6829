package all_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/convert"
	"github.com/weightmap/weightmap/format/gguf"
	"github.com/weightmap/weightmap/format/safetensors"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/internal/testhost"
	"github.com/weightmap/weightmap/tensor"
)

// sharding is a format that is written in several files.
type sharding struct {
	format, file string
	opens        func(parts int) string // the name of what opens the model
}

var shardings = []sharding{
	{"safetensors", "m.safetensors", func(int) string { return "m.safetensors.index.json" }},
	{"gguf", "m.gguf", func(parts int) string { return fmt.Sprintf("m-00001-of-%05d.gguf", parts) }},
}

// names lists what a model of so many parts consists of.
func (s sharding) names(parts int) (list []string) {
	stem, end, _ := strings.Cut(s.file, ".")
	for i := range parts {
		list = append(list, fmt.Sprintf("%s-%05d-of-%05d.%s", stem, i+1, parts, end))
	}
	if s.format == "safetensors" {
		list = append(list, s.opens(parts))
	}
	return list
}

func names(t *testing.T, dir string) (list []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	expect.OK(t, err)
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return list
}

// sized is a schema of bytes.
func sized(sizes ...int64) *schema.Schema {
	p := &schema.Schema{Metadata: schema.Metadata{{Key: "general.name", Value: "m"}}}
	for i, n := range sizes {
		p.Tensors = append(p.Tensors, tensor.Info{Name: fmt.Sprint("t", i), DType: tensor.Int8, Shape: tensor.Shape{n}})
	}
	return p
}

// put writes a schema with bytes of a kind, in an order.
func put(path, name string, p *schema.Schema, kind byte, order []int, o *format.WriteOptions) error {
	w, err := format.Create(path, p, o.With(formatNamed(name)))
	if err != nil {
		return err
	}
	defer w.Abort()
	for _, i := range order {
		if err := w.WriteTensor(p.Tensors[i].Name, bytes.NewReader(bytes.Repeat([]byte{kind + byte(i)}, int(p.Tensors[i].Shape[0])))); err != nil {
			return err
		}
	}
	return w.Close()
}

// TestShardLimits: a part ends before the tensor that would take it beyond the limit.
func TestShardLimits(t *testing.T) {
	for _, tt := range []struct {
		name  string
		sizes []int64
		limit int64
		want  [][]string
	}{
		{"all fit exactly", []int64{3, 4, 5}, 12, [][]string{{"t0", "t1", "t2"}}},
		{"one byte too many", []int64{3, 4, 5}, 11, [][]string{{"t0", "t1"}, {"t2"}}},
		{"parts that are full", []int64{4, 4, 8, 1}, 8, [][]string{{"t0", "t1"}, {"t2"}, {"t3"}}},
		{"a larger tensor", []int64{1, 9, 1}, 8, [][]string{{"t0"}, {"t1"}, {"t2"}}},
		{"larger tensors first and last", []int64{9, 1, 1, 9}, 2, [][]string{{"t0"}, {"t1", "t2"}, {"t3"}}},
		{"a tensor without data", []int64{8, 0, 8}, 8, [][]string{{"t0", "t1"}, {"t2"}}},
		{"each alone", []int64{1, 1}, 1, [][]string{{"t0"}, {"t1"}}},
	} {
		for _, s := range shardings {
			t.Run(tt.name+"/"+s.format, func(t *testing.T) {
				dir := t.TempDir()
				p := sized(tt.sizes...)
				order := rand.Perm(len(p.Tensors))
				expect.OK(t, put(filepath.Join(dir, s.file), s.format, p, 1, order, &format.WriteOptions{MaxShard: tt.limit}))
				want, opens := s.names(len(tt.want)), s.opens(len(tt.want))
				if len(tt.want) == 1 {
					want, opens = []string{s.file}, s.file
				}
				if d := cmp.Diff(want, names(t, dir)); d != "" {
					t.Fatal(d)
				}
				for i, part := range tt.want {
					if want[i] == opens { // it opens all of them
						part = slices.Concat(tt.want...)
					}
					if d := cmp.Diff(part, listed(t, filepath.Join(dir, want[i]))); d != "" {
						t.Errorf("part %d: %s", i, d)
					}
				}
				if d := cmp.Diff(slices.Concat(tt.want...), listed(t, filepath.Join(dir, opens))); d != "" {
					t.Errorf("the model: %s", d)
				}
			})
		}
	}
}

// listed returns the names of the tensors of a file, or of a model.
func listed(t *testing.T, path string) (list []string) {
	t.Helper()
	m := open(t, path, &format.Options{Check: format.CheckAll})
	for name := range m.Tensors() {
		list = append(list, name)
	}
	return list
}

// TestShardIndex: the index is what the Hub's library writes, byte for byte.
func TestShardIndex(t *testing.T) {
	dir := t.TempDir()
	p := sized(2, 3)
	p.Tensors[0].Name = "a\"ü"
	expect.OK(t, put(filepath.Join(dir, "m.safetensors"), "safetensors", p, 1, []int{0, 1}, &format.WriteOptions{MaxShard: 4}))
	got := expect.Read(t, filepath.Join(dir, "m.safetensors.index.json"))
	want := `{
  "metadata": {
    "total_size": 5
  },
  "weight_map": {
    "a\"ü": "m-00001-of-00002.safetensors",
    "t1": "m-00002-of-00002.safetensors"
  }
}
`
	if d := cmp.Diff(want, string(got)); d != "" || !json.Valid(got) {
		t.Error(d)
	}
}

// TestSplitMetadata looks for the metadata that gguf-split writes, with their types.
func TestSplitMetadata(t *testing.T) {
	dir := t.TempDir()
	expect.OK(t, put(filepath.Join(dir, "m.gguf"), "gguf", sized(2, 3), 1, []int{1, 0}, &format.WriteOptions{MaxShard: 4}))
	for i, name := range []string{"m-00001-of-00002.gguf", "m-00002-of-00002.gguf"} {
		b := expect.Read(t, filepath.Join(dir, name))
		entry := func(key string, kind uint32, value ...byte) []byte {
			e := append(binary.LittleEndian.AppendUint64(nil, uint64(len(key))), key...)
			return append(binary.LittleEndian.AppendUint32(e, kind), value...)
		}
		for _, e := range [][]byte{entry("split.no", 2, byte(i), 0), entry("split.count", 2, 2, 0), entry("split.tensors.count", 5, 2, 0, 0, 0)} {
			if !bytes.Contains(b, e) {
				t.Errorf("%s has no %q", name, e)
			}
		}
		if got := bytes.Contains(b, []byte("general.name")); got != (i == 0) {
			t.Errorf("%s has the model's metadata: %t", name, got)
		}
	}
}

// TestShardsKeepOthers: of what lies beside the model nothing goes but the shards that its old
// index names, and those only if they have such names.
func TestShardsKeepOthers(t *testing.T) {
	dir := t.TempDir()
	path, o := filepath.Join(dir, "m.safetensors"), &format.WriteOptions{MaxShard: 4}
	expect.OK(t, put(path, "safetensors", sized(4, 4), 1, []int{0, 1}, o))
	others := []string{"m-00003-of-00009.safetensors", "n-00001-of-00002.safetensors", "notes.txt"}
	lay(t, dir, map[string]string{others[0]: "x", others[1]: "x", others[2]: "x"})
	index := filepath.Join(dir, "m.safetensors.index.json")
	b := expect.Read(t, index)
	b = bytes.Replace(b, []byte(`"weight_map": {`), []byte(`"weight_map": {"x": "notes.txt", "y": "n-00001-of-00002.safetensors",`), 1)
	expect.OK(t, os.WriteFile(index, b, 0o666))
	expect.OK(t, put(path, "safetensors", sized(4), 1, []int{0}, o))
	want := append([]string{others[0], "m.safetensors"}, others[1:]...)
	expect.Equal(t, want, names(t, dir))
}

// TestShardsOntoThemselves: a model of several files is replaced by way of its index. The same input over the same files
// gives the same names, which the old model does not have.
func TestShardsOntoThemselves(t *testing.T) {
	for limit, parts := range map[int64]int{4: 3, 8: 2, 3: 3} {
		dirs := []string{t.TempDir(), t.TempDir()}
		var replaced [][]string
		for _, dir := range dirs {
			expect.OK(t, put(filepath.Join(dir, "m.safetensors"), "safetensors", sized(4, 4, 4), 1, []int{0, 1, 2}, &format.WriteOptions{MaxShard: 4}))
			index := filepath.Join(dir, "m.safetensors.index.json")
			report, err := convert.File(t.Context(), index, index, &convert.Options{Verify: true, Write: &format.WriteOptions{Format: safetensors.Format{}, MaxShard: limit}})
			expect.OK(t, err)
			var written []string
			for i, path := range report.Files {
				name := filepath.Base(path)
				if i > 0 && !regexp.MustCompile(fmt.Sprintf(`^m-[0-9a-f]{8}-%05d-of-%05d\.safetensors$`, i, parts)).MatchString(name) {
					t.Errorf("limit %d: part %d is called %s", limit, i, name)
				}
				written = append(written, name)
			}
			slices.Sort(written)
			expect.Equal(t, names(t, dir), written)
			replaced = append(replaced, written)
		}
		expect.Equal(t, replaced[0], replaced[1])
	}
}

// TestSplitOntoItself: a split GGUF is written where none is, of any number of parts, and never over one.
func TestSplitOntoItself(t *testing.T) {
	dir := t.TempDir()
	expect.OK(t, put(filepath.Join(dir, "m.gguf"), "gguf", sized(4, 4, 4), 1, []int{0, 1, 2}, &format.WriteOptions{MaxShard: 4}))
	want := names(t, dir)
	first := filepath.Join(dir, "m-00001-of-00003.gguf")
	for _, path := range []string{first, filepath.Join(dir, "m.gguf")} {
		for _, limit := range []int64{4, 8} {
			_, err := convert.File(t.Context(), first, path, &convert.Options{Write: &format.WriteOptions{Format: gguf.Format{}, MaxShard: limit}})
			expect.Refused(t, fs.ErrExist)(nil, err)
			if err != nil && !strings.Contains(err.Error(), "under another name") {
				t.Errorf("%v does not say what to do", err)
			}
		}
	}
	expect.Equal(t, want, names(t, dir))
}

// TestShardsRefused: what cannot be split is refused before anything is written, and giving up
// leaves nothing.
func TestShardsRefused(t *testing.T) {
	testhost.NeedMaps(t)
	dir := t.TempDir()
	plain := &schema.Schema{Tensors: []tensor.Info{list(tensor.Float32, "a", 2)}}
	for name, limit := range map[string]int64{"m.mag": 1, "m.tsr": 1, "m.gguf": -1, "m.safetensors": -1} {
		if err := create("", filepath.Join(dir, name), plain, &format.WriteOptions{MaxShard: limit}); !errors.Is(err, format.ErrOption) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, s := range shardings {
		w, err := format.Create(filepath.Join(dir, s.file), sized(4, 4), &format.WriteOptions{MaxShard: 4, Format: formatNamed(s.format)})
		expect.OK(t, err)
		expect.OK(t, w.WriteTensor("t1", strings.NewReader("abcd")))
		w.Abort()
	}
	unwritten(t, dir)
}
