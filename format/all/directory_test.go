package all_test

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/internal/testhost"
	"github.com/weightmap/weightmap/tensor"
)

// safe is a safetensors file of uint8 tensors, which have one element each.
func safe(names ...string) string {
	var entries []string
	for i, name := range names {
		entries = append(entries, fmt.Sprintf(`%q:{"dtype":"U8","shape":[1],"data_offsets":[%d,%d]}`, name, i, i+1))
	}
	head := "{" + strings.Join(entries, ",") + "}"
	return string(binary.LittleEndian.AppendUint64(nil, uint64(len(head)))) + head + strings.Repeat("\x07", len(names))
}

// split is part no of count of a GGUF model without tensors.
func split(no, count uint32) string {
	b := binary.LittleEndian.AppendUint32([]byte("GGUF"), 3)
	b = binary.LittleEndian.AppendUint64(b, 0)
	b = binary.LittleEndian.AppendUint64(b, 3)
	for _, kv := range []struct {
		key   string
		value uint32
	}{{"split.no", no}, {"split.count", count}, {"split.tensors.count", 0}} {
		b = binary.LittleEndian.AppendUint64(b, uint64(len(kv.key)))
		b = append(b, kv.key...)
		b = binary.LittleEndian.AppendUint32(b, 4)
		b = binary.LittleEndian.AppendUint32(b, kv.value)
	}
	return string(b)
}

// lay writes files, and links where the content begins with "->".
func lay(t *testing.T, dir string, files map[string]string) string {
	t.Helper()
	for name, content := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		expect.OK(t, os.MkdirAll(filepath.Dir(path), 0o755))
		if target, ok := strings.CutPrefix(content, "->"); ok {
			testhost.NeedLinks(t)
			expect.OK(t, os.Symlink(target, path))
		} else {
			expect.OK(t, os.WriteFile(path, []byte(content), 0o644))
		}
	}
	return dir
}

func index(shards ...string) string {
	var entries []string
	for i := 0; i < len(shards); i += 2 {
		entries = append(entries, fmt.Sprintf("%q:%q", shards[i], shards[i+1]))
	}
	return `{"metadata":{"total_size":2},"weight_map":{` + strings.Join(entries, ",") + "}}"
}

// TestDirectoryRule: a directory is opened by the first that it has.
func TestDirectoryRule(t *testing.T) {
	one, two := split(0, 2), split(1, 2)
	for _, tt := range []struct {
		name   string
		files  map[string]string
		format string // to be forced
		want   string // the base name of the path, "" for the directory, or what is in the error
		err    error
	}{
		{"index", map[string]string{"model.safetensors.index.json": index("a", "x"), "x": safe("a"), "model.safetensors": safe("b"), "y.gguf": one}, "", "model.safetensors.index.json", nil},
		{"one file", map[string]string{"model.safetensors": safe("b"), "other.safetensors": safe("c"), "x.index.json": index("a", "x"), "config.json": "{}"}, "", "model.safetensors", nil},
		{"another index", map[string]string{"model.fp16.safetensors.index.json": index("a", "x"), "x": safe("a"), "y.safetensors": safe("b")}, "", "model.fp16.safetensors.index.json", nil},
		{"a single model", map[string]string{"w.safetensors": safe("a"), "README.md": "#", "config.json": "{}", "sub.gguf/x": ""}, "", "w.safetensors", nil},
		{"parts", map[string]string{"m-00001-of-00002.gguf": one, "m-00002-of-00002.gguf": two, "README.md": "#"}, "", "m-00001-of-00002.gguf", nil},
		{"a single model among .tsr files", map[string]string{"w.safetensors": safe("a"), "b.tsr": string(small(t, "tsr"))}, "", "w.safetensors", nil},
		{"PyTorch", map[string]string{"pytorch_model.bin": safe("a"), "adapter_model.safetensors": safe("b")}, "", "pytorch_model.bin", nil},
		{"an adapter in a checkpoint", map[string]string{"adapter_model.safetensors": safe("a"), "adapter_model.bin": "", "optimizer.pt": "", "scheduler.pt": "", "rng_state.pth": "", "rng_state_0.pth": "", "scaler.pt": "", "training_args.bin": "", "tokenizer.json": "{}", "trainer_state.json": "{}"}, "", "adapter_model.safetensors", nil},
		{"a part of diffusers", map[string]string{"diffusion_pytorch_model.safetensors": safe("a"), "diffusion_pytorch_model.fp16.safetensors": safe("b"), "config.json": "{}"}, "", "diffusion_pytorch_model.safetensors", nil},
		{"shards of diffusers", map[string]string{"diffusion_pytorch_model.safetensors.index.json": index("a", "x"), "x": safe("a"), "other.safetensors": safe("b")}, "", "diffusion_pytorch_model.safetensors.index.json", nil},
		{"a checkpoint without a model's usual name", map[string]string{"w.safetensors": safe("a"), "optimizer.pt": "", "rng_state_12.pth": ""}, "", "w.safetensors", nil},
		{"what tools leave, alone", map[string]string{"optimizer.pt": "", "scaler.pt": "", "tokenizer.json": "{}"}, "", "open a file that is not the model by its name, such as optimizer.pt", format.ErrUnknownFormat},
		{"two models, and what tools leave", map[string]string{"a.safetensors": safe("a"), "b.safetensors": safe("b"), "optimizer.pt": ""}, "", `["a.safetensors" "b.safetensors"]; open one by its name, such as a.safetensors`, format.ErrUnsupported},
		{"a link that leads out", map[string]string{"model.safetensors": "->../x", "w.gguf": split(0, 1)}, "", `"model.safetensors" is a link to "../x"`, format.ErrUnsupported},
		{"forced", map[string]string{"model.safetensors": safe("a"), "w.gguf": split(0, 1)}, "gguf", "w.gguf", nil},
		{"two indexes", map[string]string{"a.index.json": index("a", "x"), "b.index.json": index("a", "x")}, "", `["a.index.json" "b.index.json"]`, format.ErrUnsupported},
		{"two models", map[string]string{"a.gguf": one, "b.safetensors": safe("b")}, "", `["a.gguf" "b.safetensors"]`, format.ErrUnsupported},
		{"parts of two models", map[string]string{"a-00001-of-00002.gguf": one, "b-00002-of-00002.gguf": two}, "", `["a-00001-of-00002.gguf" "b-00002-of-00002.gguf"]`, format.ErrUnsupported},
		{"a part alone", map[string]string{"m-00002-of-00002.gguf": two}, "", "only a part", format.ErrUnsupported},
		{"a file, and parts of an older model", map[string]string{"m.gguf": one, "m-00001-of-00003.gguf": one, "m-00002-of-00003.gguf": two}, "", "m.gguf", nil},
		{"a file and a whole split model", map[string]string{"m.gguf": one, "m-00001-of-00002.gguf": one, "m-00002-of-00002.gguf": two}, "", `"m.gguf"`, format.ErrUnsupported},
		{"a file, and a part of another", map[string]string{"m.gguf": one, "n-00001-of-00002.gguf": one}, "", `["m.gguf" "n-00001-of-00002.gguf"]`, format.ErrUnsupported},
		{"parts without the first", map[string]string{"a-00002-of-00003.gguf": one, "a-00003-of-00003.gguf": two}, "", "only a part of a model: a-00001-of-00003.gguf is not there", format.ErrUnsupported},
		{"several GGUF files", map[string]string{"m-Q4_0.gguf": one, "m-Q8_0.gguf": one, "README.md": "#"}, "", `["m-Q4_0.gguf" "m-Q8_0.gguf"]; open one by its name, such as m-Q4_0.gguf`, format.ErrUnsupported},
		{"shards without an index", map[string]string{"x-00001-of-00002.safetensors": safe("a"), "x-00002-of-00002.safetensors": safe("b"), "other.safetensors": safe("c")}, "", "", nil},
		{"PyTorch's shards without an index", map[string]string{"pytorch_model-00001-of-00002.bin": pickled("a"), "pytorch_model-00002-of-00002.bin": pickled("b"), "training_args.bin": ""}, "", "", nil},
		{"shards of which one is missing", map[string]string{"x-00001-of-00003.safetensors": safe("a"), "x-00003-of-00003.safetensors": safe("b")}, "", "only a part of a model: x-00002-of-00003.safetensors is not there", format.ErrUnsupported},
		{"shards of which one has an older count", map[string]string{"x-00001-of-00002.safetensors": safe("a"), "x-00002-of-00003.safetensors": safe("b")}, "", "only a part of a model: x-00002-of-00002.safetensors is not there", format.ErrUnsupported},
		{"shards of two models", map[string]string{"x-00001-of-00001.safetensors": safe("a"), "y-00001-of-00002.safetensors": safe("a"), "y-00002-of-00002.safetensors": safe("b"), "z-00001-of-00002.safetensors": safe("a"), "z-00002-of-00002.safetensors": safe("b")}, "", `"z-00002-of-00002.safetensors"]`, format.ErrUnsupported},
		{"a tensor in two shards", map[string]string{"x-00001-of-00002.safetensors": safe("a"), "x-00002-of-00002.safetensors": safe("b", "a")}, "", `shard "x-00002-of-00002.safetensors": corrupt: tensor "a" is in another shard too`, format.ErrCorrupt},
		{"a shard that is none", map[string]string{"x-00001-of-00002.safetensors": safe("a"), "x-00002-of-00002.safetensors": "version https://git-lfs.github.com/spec/v1\n"}, "", "x-00002-of-00002.safetensors: at 0x0: header length: this is a Git LFS pointer", format.ErrUnknownFormat},
		{"a pipeline of diffusers", map[string]string{"model_index.json": "{}", "scheduler/scheduler_config.json": "{}", "unet/diffusion_pytorch_model.safetensors": safe("a"), "vae/diffusion_pytorch_model.safetensors": safe("b")}, "", "open the model in one of its directories, such as unet", format.ErrUnknownFormat},
		{"checkpoints of a Trainer", map[string]string{"checkpoint-500/model.safetensors": safe("a"), "runs/x": ""}, "", "such as checkpoint-500", format.ErrUnknownFormat},
		{"an archive of PyTorch that was unpacked", map[string]string{"data.pkl": pickled("a"), "version": "3", "data/0": "", "optimizer.pt": ""}, "", "", nil},
		{"one without a version", map[string]string{"data.pkl": pickled("a"), "data/0": ""}, "", "", nil},
		{"one with a model beside it", map[string]string{"data.pkl": pickled("a"), "version": "3", "m.gguf": one}, "", `["m.gguf" "data.pkl"]; open one by its name, such as m.gguf`, format.ErrUnsupported},
		{"one with another model asked for", map[string]string{"data.pkl": pickled("a"), "version": "3", "m.gguf": split(0, 1)}, "gguf", "m.gguf", nil},
		{"one with a model of a usual name", map[string]string{"data.pkl": pickled("a"), "version": "3", "model.safetensors": safe("a")}, "", "model.safetensors", nil},
		{"a pickle alone", map[string]string{"data.pkl": pickled("a")}, "", `["data.pkl"]`, format.ErrUnknownFormat},
		{"none", map[string]string{"README.md": "#", "config.json": "{}"}, "", `["README.md" "config.json"]`, format.ErrUnknownFormat},
		{"empty", nil, "", "the directory is empty", format.ErrUnknownFormat},
		{"none of the forced format", map[string]string{"model.safetensors": safe("a")}, "gguf", `["model.safetensors"]`, format.ErrUnknownFormat},
		{"a directory of that name", map[string]string{"model.safetensors/x": ""}, "", "not a regular file", os.ErrInvalid},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := lay(t, t.TempDir(), tt.files)
			m, err := format.Open(dir, &format.Options{Format: formatNamed(tt.format)})
			if tt.err != nil {
				if err == nil || tt.err != os.ErrInvalid && !errors.Is(err, tt.err) || !strings.Contains(err.Error(), tt.want) || strings.Count(err.Error(), dir) != 1 {
					t.Fatalf("%v, want %v with %s", err, tt.err, tt.want)
				}
				return
			}
			expect.OK(t, err)
			defer m.Close()
			want := filepath.Join(dir, tt.want)
			expect.Equal(t, []string{want, want}, []string{m.Path(), m.Files()[0]})
			for name, v := range m.Tensors() {
				b, err := v.Bytes()
				if err != nil || string(b) != "\x07" {
					t.Errorf("%s: % x, %v", name, b, err)
				}
			}
			if _, count := m.Part(); count > 0 && tt.want == "" {
				t.Error("it is a part")
			}
			_, err = m.Verify(t.Context(), nil)
			expect.OK(t, err)
		})
	}
}

// TestChoices: the error of a directory that is not one model has the paths that open the models in
// it.
func TestChoices(t *testing.T) {
	one := split(0, 1)
	for _, tt := range []struct {
		name  string
		files map[string]string
		want  []string
	}{
		{"two models", map[string]string{"a.gguf": one, "b.safetensors": safe("b"), "README.md": "#"}, []string{"a.gguf", "b.safetensors"}},
		{"an index and a file", map[string]string{"a.index.json": index("a", "x"), "b.index.json": index("a", "x"), "x": safe("a")}, []string{"a.index.json", "b.index.json"}},
		{"a part alone", map[string]string{"m-00001-of-00002.safetensors": safe("a")}, []string{"m-00001-of-00002.safetensors"}},
		{"a pipeline", map[string]string{"unet/model.safetensors": safe("a"), "vae/model.safetensors": safe("b"), "x": ""}, []string{"unet", "vae"}},
		{"what tools leave", map[string]string{"optimizer.pt": pickled("a"), "scaler.pt": pickled("b"), "x.json": "{}"}, []string{"optimizer.pt", "scaler.pt"}},
		{"an unpacked archive, which its directory opens, and a model", map[string]string{"data.pkl": pickled("a"), "version": "3", "m.gguf": one}, []string{"m.gguf"}},
		{"two snapshots", map[string]string{"refs/x": "", "snapshots/a/model.safetensors": safe("a"), "snapshots/b/model.safetensors": safe("b")}, []string{"snapshots/a", "snapshots/b"}},
		{"two models in a snapshot", map[string]string{"refs/x": "", "snapshots/a/a.safetensors": safe("a"), "snapshots/a/b.safetensors": safe("b")}, []string{"a.safetensors", "b.safetensors"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := format.Open(lay(t, t.TempDir(), tt.files), nil)
			var choice *format.ChoiceError
			var at *tensor.Error
			if !errors.As(err, &choice) || !errors.As(err, &at) {
				t.Fatal(err)
			}
			expect.Equal(t, tt.want, choice.Names)
			for _, name := range choice.Names {
				m, err := format.Open(filepath.Join(at.Path, filepath.FromSlash(name)), nil)
				expect.OK(t, err)
				m.Close()
			}
		})
	}
	for name, files := range map[string]map[string]string{"nothing": nil, "no model": {"README.md": "#"}} {
		_, err := format.Open(lay(t, t.TempDir(), files), nil)
		if errors.As(err, new(*format.ChoiceError)) || !errors.Is(err, format.ErrUnknownFormat) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// pickled is a pickle of a dict with one array of a byte.
func pickled(name string) string {
	return "\x80\x02}U" + string(rune(len(name))) + name + "cnumpy.core.multiarray\n_reconstruct\n(cnumpy\nndarray\nK\x00\x85U\x01bt" +
		"R(K\x01K\x01\x85cnumpy\ndtype\n(U\x02u1K\x00K\x01tR(K\x03U\x01|NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb\x89U\x01\x07tbs."
}

// TestRepository: a repository of the Hub's cache is opened by refs/main, or by its only snapshot.
func TestRepository(t *testing.T) {
	testhost.NeedLinks(t)
	const r1, r2 = "0123456789abcdef0123456789abcdef01234567", "89abcdef0123456789abcdef0123456789abcdef"
	one := map[string]string{"blobs/b1": safe("a"), "snapshots/" + r1 + "/model.safetensors": "->../../blobs/b1"}
	two := map[string]string{"blobs/b2": safe("b", "c"), "snapshots/" + r2 + "/model.safetensors": "->../../blobs/b2"}
	for _, tt := range []struct {
		name  string
		files []map[string]string
		want  string // the snapshot, or what is in the error
		err   error
	}{
		{"refs/main", []map[string]string{one, two, {"refs/main": r2}}, r2, nil},
		{"refs/main and a line feed", []map[string]string{one, two, {"refs/main": r1 + "\n"}}, r1, nil},
		{"the only snapshot", []map[string]string{one}, r1, nil},
		{"the only snapshot, and another ref", []map[string]string{one, {"refs/v1": r2}}, r1, nil},
		{"two snapshots", []map[string]string{one, two}, "several snapshots, and refs/main does not name one: [\"" + r1 + `" "` + r2 + "\"]; open one by its name, such as snapshots/" + r1, format.ErrUnsupported},
		{"no snapshot", []map[string]string{{"blobs/b1": safe("a"), "snapshots/x": ""}}, "no snapshot: download it", format.ErrUnknownFormat},
		{"a ref to another snapshot", []map[string]string{one, {"refs/main": r2}}, "refs/main names the snapshot \"" + r2 + `", which is not there: download it again`, fs.ErrNotExist},
		{"a ref that leads out", []map[string]string{one, {"refs/main": "../../.."}}, "which is no name of a snapshot", format.ErrCorrupt},
		{"a ref to nothing", []map[string]string{one, {"refs/main": "."}}, "which is no name of a snapshot", format.ErrCorrupt},
		{"a long ref", []map[string]string{one, {"refs/main": strings.Repeat("0", 1000)}}, "which is not there", fs.ErrNotExist},
		{"a missing blob", []map[string]string{{"blobs/b2": "", "refs/main": r1, "snapshots/" + r1 + "/model.safetensors": "->../../blobs/b1"}}, `"model.safetensors" is a link to "../../blobs/b1"`, fs.ErrNotExist},
		{"an empty snapshot", []map[string]string{{"blobs/b1": "", "refs/main": r1, "snapshots/" + r1 + "/README.md": "#"}}, `no model, only ["README.md"]`, format.ErrUnknownFormat},
	} {
		t.Run(tt.name, func(t *testing.T) {
			base := t.TempDir()
			root := filepath.Join(base, "models--org--name")
			for _, files := range tt.files {
				lay(t, root, files)
			}
			top, err := os.OpenRoot(base)
			expect.OK(t, err)
			defer top.Close()
			byPath, atPath := format.Open(root, nil)
			byName, atName := format.OpenFS(top.FS(), "models--org--name", nil)
			for i, m := range []*format.Model{byPath, byName} {
				err := []error{atPath, atName}[i]
				if tt.err != nil {
					if !errors.Is(err, tt.err) || !strings.Contains(err.Error(), tt.want) {
						t.Errorf("door %d: %v, want %v with %s", i, err, tt.err, tt.want)
					}
					continue
				}
				expect.OK(t, err)
				defer m.Close()
				if i == 0 {
					expect.Equal(t, filepath.Join(root, "snapshots", tt.want, "model.safetensors"), m.Path())
				}
				expect.Equal(t, map[string]int{r1: 1, r2: 2}[tt.want], m.Len())
			}
		})
	}
}

// TestHubCache: links of a snapshot lead to blobs, and nowhere else unless the caller says so.
func TestHubCache(t *testing.T) {
	testhost.NeedLinks(t)
	const named = "snapshots/r1/model.safetensors.index.json"
	cache := map[string]string{
		"blobs/index": index("a", "s1.safetensors", "b", "sub/s2.safetensors"), "blobs/b1": safe("a"), "blobs/b2": safe("b"), "blobs/dir/x": "",
		"snapshots/r1/s1.safetensors": "->../../blobs/b1", "snapshots/r1/sub/s2.safetensors": "->../../../blobs/b2", named: "->../../blobs/index",
		"snapshots/r2/s1.safetensors": safe("a"), "other/s1.safetensors": safe("a"),
	}
	for _, tt := range []struct {
		name   string
		open   string // below the cache
		s1     string // what it is instead
		root   string // Options.Root, below the cache
		err    error
		target string // in the error
	}{
		{"index", named, "", "", nil, ""},
		{"directory", "snapshots/r1", "", "", nil, ""},
		{"one file", "snapshots/r1/s1.safetensors", "", "", nil, ""},
		{"a link to another link", named, "->s1.link", "", nil, ""},
		{"absolute", named, "->ROOT/blobs/b1", "", nil, ""},
		{"outside", named, "->../../../outside", "", format.ErrUnsupported, "../../../outside"},
		{"a file of the system", named, "->/etc/passwd", "", format.ErrUnsupported, "/etc/passwd"},
		{"a device", named, "->/dev/zero", "", format.ErrUnsupported, "/dev/zero"},
		{"another snapshot", named, "->../r2/s1.safetensors", "", format.ErrUnsupported, "../r2/s1.safetensors"},
		{"another directory of the cache", named, "->../../other/s1.safetensors", "", format.ErrUnsupported, "../../other/s1.safetensors"},
		{"another directory as the root", named, "->../../other/s1.safetensors", "other", format.ErrUnsupported, "../../../blobs/b2"},
		{"the cache as the root", named, "->../../other/s1.safetensors", ".", nil, ""},
		{"missing blob", named, "->../../blobs/none", "", fs.ErrNotExist, "../../blobs/none"},
		{"a directory", named, "->../../blobs/dir", "", format.ErrCorrupt, "../../blobs/dir"},
		{"a loop", named, "->s1.safetensors", "", format.ErrUnsupported, "s1.safetensors"},
		{"a loop through blobs", named, "->../../blobs/loop", "", format.ErrUnsupported, "../../blobs/loop"},
		{"a missing root", named, "->../../other/s1.safetensors", "none", fs.ErrNotExist, "../../other/s1.safetensors"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			root := filepath.Join(lay(t, t.TempDir(), map[string]string{"outside": safe("a")}), "models--org--name")
			lay(t, root, cache)
			lay(t, root, map[string]string{"snapshots/r1/s1.link": "->../../blobs/b1", "blobs/loop": "->../snapshots/r1/s1.safetensors"})
			s1 := filepath.Join(root, "snapshots/r1/s1.safetensors")
			if tt.s1 != "" {
				os.Remove(s1)
				lay(t, root, map[string]string{"snapshots/r1/s1.safetensors": strings.ReplaceAll(tt.s1, "ROOT", root)})
			}
			o := &format.Options{}
			if tt.root != "" {
				o.Root = filepath.Join(root, tt.root)
			}
			m, err := format.Open(filepath.Join(root, filepath.FromSlash(tt.open)), o)
			if tt.err != nil {
				loop := strings.Contains(tt.name, "loop") && err != nil // which systems call by various names
				if err == nil || !loop && !errors.Is(err, tt.err) || !strings.Contains(err.Error(), fmt.Sprintf("is a link to %q", tt.target)) {
					t.Errorf("%v, want %v with %s", err, tt.err, tt.target)
				}
				if errors.Is(err, format.ErrCorrupt) && tt.err != format.ErrCorrupt {
					t.Errorf("%v is called corrupt", err)
				}
				return
			}
			expect.OK(t, err)
			defer m.Close()
			if _, err := m.Tensor("a"); err != nil {
				t.Error(err)
			}
			if !slices.Contains(m.Files(), s1) {
				t.Errorf("%q lacks %s", m.Files(), s1)
			}
		})
	}
}

// TestIndexByName: the name of an index says of which format the files are that it names.
func TestIndexByName(t *testing.T) {
	for name, want := range map[string]string{"pytorch_model.bin.index.json": "torch", "model.safetensors.index.json": "safetensors"} {
		dir := lay(t, t.TempDir(), map[string]string{name: index("a", "none.bin")})
		_, err := format.Open(dir, nil)
		var e *tensor.Error
		if !errors.As(err, &e) || e.Format != want || !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v, want an error of %s", name, err, want)
		}
	}
}

// TestHubCacheExternal: models whose data is in another file of a snapshot open through its links.
func TestHubCacheExternal(t *testing.T) {
	testhost.NeedLinks(t)
	for _, name := range []string{"model.onnx", "model.wia"} {
		t.Run(name, func(t *testing.T) {
			plain, root := t.TempDir(), t.TempDir()
			p := &schema.Schema{Tensors: []tensor.Info{list(tensor.Float32, "a", 4)}}
			expect.OK(t, create("", filepath.Join(plain, name), p, &format.WriteOptions{NoSync: true, ExternalFrom: 1}))
			files := names(t, plain)
			if len(files) != 2 {
				t.Fatalf("files %q", files)
			}
			for i, f := range files {
				b := expect.Read(t, filepath.Join(plain, f))
				lay(t, root, map[string]string{fmt.Sprint("blobs/", i): string(b), "snapshots/r1/" + f: fmt.Sprint("->../../blobs/", i)})
			}
			b, err := open(t, filepath.Join(root, "snapshots/r1", name), nil).At(0).Bytes()
			if err != nil || !bytes.Equal(b, fill(0, p.Tensors[0])) {
				t.Errorf("%v, %v", b, err)
			}
		})
	}
}

// TestOpenFS: models of several files open in any file system.
func TestOpenFS(t *testing.T) {
	files := map[string]string{
		"m/model.safetensors.index.json": index("a", "s1.safetensors", "b", "sub/s2.safetensors"), "m/s1.safetensors": safe("a"), "m/sub/s2.safetensors": safe("b"),
		"bad/i.index.json": index("a", "none"), "none/README.md": "#", "two/a.gguf": split(0, 1), "two/b.gguf": split(0, 1), "dir/w.tsr": string(small(t, "tsr")),
		"parts/p-00001-of-00002.gguf": split(0, 2), "parts/p-00002-of-00002.gguf": split(1, 2),
	}
	var packed bytes.Buffer
	z := zip.NewWriter(&packed)
	inMemory := fstest.MapFS{}
	for name, content := range files {
		w, err := z.Create(name)
		expect.OK(t, err)
		_, err = w.Write([]byte(content))
		expect.OK(t, err)
		inMemory[name] = &fstest.MapFile{Data: []byte(content)}
	}
	expect.OK(t, z.Close())
	zipped, err := zip.NewReader(bytes.NewReader(packed.Bytes()), int64(packed.Len()))
	expect.OK(t, err)
	for kind, fsys := range map[string]fs.FS{"zip": zipped, "memory": inMemory, "directory": os.DirFS(lay(t, t.TempDir(), files))} {
		for _, tt := range []struct {
			name    string
			tensors int
			err     error
		}{
			{"m/model.safetensors.index.json", 2, nil}, {"m", 2, nil}, {"m/s1.safetensors", 1, nil}, {"parts", 0, nil},
			{"none.gguf", 0, fs.ErrNotExist}, {"bad", 0, fs.ErrNotExist}, {"none", 0, format.ErrUnknownFormat}, {"two", 0, format.ErrUnsupported},
			{"dir", 1, nil}, {"../m", 0, fs.ErrInvalid},
		} {
			t.Run(kind+"/"+tt.name, func(t *testing.T) {
				m, err := format.OpenFS(fsys, tt.name, nil)
				if tt.err != nil {
					if !errors.Is(err, tt.err) && !(tt.err == fs.ErrInvalid && errors.Is(err, fs.ErrNotExist)) {
						t.Errorf("%v, want %v", err, tt.err)
					}
					return
				}
				expect.OK(t, err)
				defer m.Close()
				if m.Len() != tt.tensors {
					t.Errorf("%d tensors", m.Len())
				}
				for name, v := range m.Tensors() {
					want := "\x07"
					if tt.name == "dir" {
						want = "\x01\x04\a\n"
					}
					if b, err := v.Bytes(); err != nil || string(b) != want {
						t.Errorf("%s: %q, %v", name, b, err)
					}
				}
			})
		}
	}
	if _, err := format.OpenFS(zipped, "m/s1.safetensors", &format.Options{MaxMemory: 8}); !errors.Is(err, format.ErrLimit) {
		t.Errorf("beyond the limit: %v", err)
	}
}

// TestFSLink is ../shared/cases/attack/fslink.go.txt: a link out of the model is refused through every door.
func TestFSLink(t *testing.T) {
	testhost.NeedLinks(t)
	base := lay(t, t.TempDir(), map[string]string{
		"secret.safetensors": safe("w"), "model/s1.safetensors": "->../secret.safetensors",
		"model/model.safetensors.index.json": index("w", "s1.safetensors"), "up/model.safetensors.index.json": index("w", "../secret.safetensors"),
	})
	dir := filepath.Join(base, "model")
	root, err := os.OpenRoot(dir)
	expect.OK(t, err)
	defer root.Close()
	for _, tt := range []struct {
		name string
		open func() (*format.Model, error)
		want error
		says string
	}{
		{"Open", func() (*format.Model, error) { return format.Open(dir, nil) }, format.ErrUnsupported, `"s1.safetensors" is a link to "../secret.safetensors"`},
		{"DirFS", func() (*format.Model, error) { return format.OpenFS(os.DirFS(dir), ".", nil) }, format.ErrUnsupported, `"s1.safetensors" is a link to "../secret.safetensors"`},
		{"Root.FS", func() (*format.Model, error) { return format.OpenFS(root.FS(), ".", nil) }, format.ErrUnsupported, `"s1.safetensors" is a link to "../secret.safetensors"`},
		{"DirFS above", func() (*format.Model, error) { return format.OpenFS(os.DirFS(base), "model", nil) }, format.ErrUnsupported, `"s1.safetensors" is a link to "../secret.safetensors"`},
		{"DirFS ..", func() (*format.Model, error) { return format.OpenFS(os.DirFS(base), "up", nil) }, format.ErrCorrupt, "no file below the directory"},
	} {
		m, err := tt.open()
		if err == nil {
			m.Close()
		}
		advice := "Options.Root"
		if tt.name == "DirFS" || tt.name == "Root.FS" {
			advice = "open the model by its path" // a file system has no files outside of it
		}
		if !errors.Is(err, tt.want) || !strings.Contains(err.Error(), tt.says) || tt.want == format.ErrUnsupported && (errors.Is(err, format.ErrCorrupt) || !strings.Contains(err.Error(), advice)) {
			t.Errorf("%s: %v, want %v that says %s", tt.name, err, tt.want, tt.says)
		}
	}
}
