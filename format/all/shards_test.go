package all_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/convert"
	"github.com/weightmap/weightmap/internal/save"
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
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return list
}

var unsynced = format.WriteOptions{NoSync: true}

// sized is a plan of bytes.
func sized(sizes ...int64) *format.Plan {
	p := &format.Plan{Metadata: format.Metadata{{Key: "general.name", Value: "m"}}}
	for i, n := range sizes {
		p.Tensors = append(p.Tensors, tensor.Info{Name: fmt.Sprint("t", i), DType: tensor.Int8, Shape: tensor.Shape{n}})
	}
	return p
}

// put writes a plan with bytes of a kind, in an order.
func put(path, name string, p *format.Plan, kind byte, order []int, o *format.WriteOptions) error {
	w, err := format.Create(name, path, p, o)
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
				var order []int
				for i := range p.Tensors {
					order = append(order, len(p.Tensors)-1-i)
				}
				if err := put(filepath.Join(dir, s.file), s.format, p, 1, order, &format.WriteOptions{MaxShard: tt.limit}); err != nil {
					t.Fatal(err)
				}
				want := s.names(len(tt.want))
				if len(tt.want) == 1 {
					want = []string{s.file}
				}
				if d := cmp.Diff(want, names(t, dir)); d != "" {
					t.Fatal(d)
				}
				var all []string
				for i, part := range tt.want {
					if all = append(all, part...); s.format == "gguf" && i == 0 && len(tt.want) > 1 {
						continue // it opens all of them
					}
					if d := cmp.Diff(part, listed(t, filepath.Join(dir, want[i]))); d != "" {
						t.Errorf("part %d: %s", i, d)
					}
				}
				if len(tt.want) > 1 {
					if d := cmp.Diff(all, listed(t, filepath.Join(dir, s.opens(len(tt.want))))); d != "" {
						t.Errorf("the model: %s", d)
					}
				}
			})
		}
	}
}

// listed returns the names of the tensors of a file, or of a model.
func listed(t *testing.T, path string) (list []string) {
	t.Helper()
	m, err := format.Open(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	if _, err := m.Verify(t.Context()); err != nil {
		t.Error(err)
	}
	for name := range m.Tensors() {
		list = append(list, name)
	}
	return list
}

// TestShardRoundTrip splits random models and merges them: the file that comes of it is the one
// that was split.
func TestShardRoundTrip(t *testing.T) {
	for seed := range uint64(40) {
		rng := rand.New(rand.NewPCG(seed, 1))
		sizes := make([]int64, 1+rng.IntN(12))
		for i := range sizes {
			sizes[i] = int64(rng.IntN(50))
		}
		for _, s := range shardings {
			dir := t.TempDir()
			path := filepath.Join(dir, s.file)
			if err := put(path, s.format, sized(sizes...), byte(seed), rng.Perm(len(sizes)), &unsynced); err != nil {
				t.Fatal(err)
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			target := filepath.Join(t.TempDir(), s.file)
			report, err := convert.File(path, target, &convert.Options{Verify: true, WriteOptions: format.WriteOptions{NoSync: true, MaxShard: 1 + int64(rng.IntN(120))}})
			if err != nil {
				t.Fatal(err)
			}
			if _, err = convert.File(report.Files[0], path, &convert.Options{WriteOptions: unsynced}); err != nil {
				t.Fatal(err)
			}
			got, err := os.ReadFile(path)
			if err != nil || !bytes.Equal(want, got) {
				t.Errorf("seed %d, %s: %v does not become the file it was: %v", seed, s.format, report.Files, err)
			}
		}
	}
}

// TestShardIndex: the index is what the Hub's library writes, byte for byte.
func TestShardIndex(t *testing.T) {
	dir := t.TempDir()
	p := sized(2, 3)
	p.Tensors[0].Name = "a\"ü"
	if err := put(filepath.Join(dir, "m.safetensors"), "safetensors", p, 1, []int{0, 1}, &format.WriteOptions{MaxShard: 4}); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(dir, "m.safetensors.index.json"))
	if err != nil {
		t.Fatal(err)
	}
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
	if err := put(filepath.Join(dir, "m.gguf"), "gguf", sized(2, 3), 1, []int{1, 0}, &format.WriteOptions{MaxShard: 4}); err != nil {
		t.Fatal(err)
	}
	for i, name := range []string{"m-00001-of-00002.gguf", "m-00002-of-00002.gguf"} {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
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

// TestShardsReplaced replaces a model by one of as many parts, so that their files have the same
// names, and has each call fail, and all calls from one on.
func TestShardsReplaced(t *testing.T) {
	for _, s := range shardings {
		for _, forever := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, forever %t", s.format, forever), func(t *testing.T) {
				k := 1
				for ; s.replacedBut(t, k, forever); k++ {
				}
				if k < 20 {
					t.Errorf("only %d calls could fail", k-1)
				}
			})
		}
	}
}

// replacedBut has call k fail, and reports whether there is one.
func (s sharding) replacedBut(t *testing.T, k int, forever bool) bool {
	t.Helper()
	dir := t.TempDir()
	path, o := filepath.Join(dir, s.file), &format.WriteOptions{MaxShard: 4}
	opens := filepath.Join(dir, s.opens(3))
	plan, order := sized(4, 4, 4), []int{1, 2, 0}
	var models [2]string
	for _, i := range []int{1, 0} {
		if err := put(path, s.format, plan, byte(10*i), order, &format.WriteOptions{MaxShard: 4, NoSync: true}); err != nil {
			t.Fatal(err)
		}
		models[i], _ = contents(opens)
	}
	n, failed := 0, ""
	new(saving).hook(func(call, _ string) error {
		if n++; n < k || n > k && !forever {
			return nil
		}
		failed += call + " "
		return errInjected
	})
	err := put(path, s.format, plan, 10, order, o)
	save.SetHook(nil)
	got, bad := contents(opens)
	want := models[0]
	if err == nil || errors.Is(err, format.ErrNotDurable) {
		want = models[1]
	}
	// When nothing can be undone any more there is no model rather than a mixture of two.
	lost := forever && got == "" && err != nil && strings.Contains(failed, save.CallRename)
	if bad != nil || got != want && !lost {
		t.Errorf("call %d (%s) failed: error %v, but the model is %q, %v", k, failed, err, got, bad)
	}
	if d := cmp.Diff(s.names(3), names(t, dir)); d != "" && !forever && failed != save.CallRemove+" " {
		t.Errorf("call %d (%s) failed: %s", k, failed, d)
	}
	return failed != ""
}

// TestShardsKeepOthers: of what lies beside the model nothing goes but the shards that its old
// index names, and those only if they have such names.
func TestShardsKeepOthers(t *testing.T) {
	dir := t.TempDir()
	path, o := filepath.Join(dir, "m.safetensors"), &format.WriteOptions{MaxShard: 4}
	if err := put(path, "safetensors", sized(4, 4), 1, []int{0, 1}, o); err != nil {
		t.Fatal(err)
	}
	others := []string{"m-00003-of-00009.safetensors", "n-00001-of-00002.safetensors", "notes.txt"}
	for _, name := range others {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("x"), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	index := filepath.Join(dir, "m.safetensors.index.json")
	b, err := os.ReadFile(index)
	if err != nil {
		t.Fatal(err)
	}
	b = bytes.Replace(b, []byte(`"weight_map": {`), []byte(`"weight_map": {"x": "notes.txt", "y": "n-00001-of-00002.safetensors",`), 1)
	if err := os.WriteFile(index, b, 0o666); err != nil {
		t.Fatal(err)
	}
	if err := put(path, "safetensors", sized(4), 1, []int{0}, o); err != nil {
		t.Fatal(err)
	}
	want := append([]string{others[0], "m.safetensors"}, others[1:]...)
	if d := cmp.Diff(want, names(t, dir)); d != "" {
		t.Error(d)
	}
}

// TestShardsOntoThemselves: a model of several files is replaced by way of the file that opens it.
func TestShardsOntoThemselves(t *testing.T) {
	for _, s := range shardings {
		for _, limit := range []int64{4, 8, 3} {
			dir := t.TempDir()
			if err := put(filepath.Join(dir, s.file), s.format, sized(4, 4, 4), 1, []int{0, 1, 2}, &format.WriteOptions{MaxShard: 4}); err != nil {
				t.Fatal(err)
			}
			opens := filepath.Join(dir, s.opens(3))
			report, err := convert.File(opens, opens, &convert.Options{To: s.format, Verify: true, WriteOptions: format.WriteOptions{MaxShard: limit}})
			if err != nil {
				t.Fatal(err)
			}
			want := s.names(map[int64]int{4: 3, 8: 2, 3: 3}[limit])
			if d := cmp.Diff(want, names(t, dir)); d != "" {
				t.Errorf("%s, %d: %s\n%v", s.format, limit, d, report.Files)
			}
		}
	}
}

// TestShardsRefused: what cannot be split is refused before anything is written, and giving up
// leaves nothing.
func TestShardsRefused(t *testing.T) {
	testhost.NeedMaps(t)
	dir := t.TempDir()
	plain := &format.Plan{Tensors: []tensor.Info{{Name: "a", DType: tensor.Float32, Shape: tensor.Shape{2}}}}
	for name, limit := range map[string]int64{"m.mag": 1, "m.tsr": 1, "m.gguf": -1, "m.safetensors": -1} {
		if _, err := format.Create("", filepath.Join(dir, name), plain, &format.WriteOptions{MaxShard: limit}); !errors.Is(err, format.ErrOption) {
			t.Errorf("%s: %v", name, err)
		}
	}
	many := make([]int64, 1<<16)
	for i := range many {
		many[i] = 1
	}
	if _, err := format.Create("", filepath.Join(dir, "m.gguf"), sized(many...), &format.WriteOptions{MaxShard: 1}); !errors.Is(err, format.ErrOption) {
		t.Errorf("65,536 files: %v", err)
	}
	var out bytes.Buffer
	if _, err := format.NewWriter("gguf", &out, sized(1), &format.WriteOptions{MaxShard: 1}); !errors.Is(err, format.ErrOption) {
		t.Errorf("NewWriter: %v", err)
	}
	for _, s := range shardings {
		w, err := format.Create(s.format, filepath.Join(dir, s.file), sized(4, 4), &format.WriteOptions{MaxShard: 4})
		if err == nil {
			err = w.WriteTensor("t1", strings.NewReader("abcd"))
		}
		if err != nil {
			t.Fatal(err)
		}
		w.Abort()
	}
	if got := names(t, dir); got != nil {
		t.Errorf("left: %v", got)
	}
}
