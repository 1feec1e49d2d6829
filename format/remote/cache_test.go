package remote

import (
	"errors"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/internal/testhost"
)

// TestHubCache opens models that the cache has, or not.
func TestHubCache(t *testing.T) {
	testhost.NeedLinks(t)
	const old = "89abcdef0123456789abcdef0123456789abcdef"
	files := map[string]string{"/model.safetensors": shard("a", 5, 'a'), "/x.safetensors": shard("b", 5, 'b'), "/sub/f.safetensors": shard("c", 5, 'c')}
	inCache := func(commit string, names ...string) map[string]string {
		all := map[string]string{}
		for _, name := range names {
			all["blobs/"+commit[:2]+filepath.Base(name)] = files["/"+name]
			all["snapshots/"+commit+"/"+name] = "->" + strings.Repeat("../", 2+strings.Count(name, "/")) + "blobs/" + commit[:2] + filepath.Base(name)
		}
		return all
	}
	main := map[string]string{"refs/main": old}
	for _, tt := range []struct {
		name    string
		cache   []map[string]string
		address string
		offline string // HF_HUB_OFFLINE
		down    bool   // the Hub is
		path    string // of the model, below the repository in the cache; "" if it comes from the Hub
		asked   int    // requests of the Hub
		note    string
		err     error
		text    string
	}{
		{name: "a commit", cache: []map[string]string{inCache(old, "model.safetensors")}, address: "@" + old, path: "snapshots/" + old + "/model.safetensors"},
		{name: "a file of a commit", cache: []map[string]string{inCache(old, "sub/f.safetensors")}, address: "@" + old + "/sub/f.safetensors", path: "snapshots/" + old + "/sub/f.safetensors"},
		{name: "a commit that the cache lacks", cache: []map[string]string{inCache(old, "model.safetensors")}, address: "@" + commitOfMain, asked: 2},
		{name: "a file that the snapshot lacks", cache: []map[string]string{inCache(commitOfMain, "model.safetensors")}, address: "@" + commitOfMain + "/x.safetensors", asked: 1},
		{name: "a snapshot without a model", cache: []map[string]string{{"snapshots/" + commitOfMain + "/README.md": "#"}}, address: "@" + commitOfMain, asked: 2},
		{name: "a missing blob", cache: []map[string]string{{"blobs/x": "", "snapshots/" + commitOfMain + "/model.safetensors": "->../../blobs/none"}}, address: "@" + commitOfMain, asked: 2},
		{name: "the branch", cache: []map[string]string{inCache(commitOfMain, "model.safetensors")}, address: "", path: "snapshots/" + commitOfMain + "/model.safetensors", asked: 1},
		{name: "a file of the branch", cache: []map[string]string{inCache(commitOfMain, "x.safetensors")}, address: "/x.safetensors", path: "snapshots/" + commitOfMain + "/x.safetensors", asked: 1},
		{name: "the branch has moved", cache: []map[string]string{inCache(old, "model.safetensors"), main}, address: "", asked: 2},
		{name: "another model of the branch in the cache", cache: []map[string]string{inCache(commitOfMain, "x.safetensors")}, address: "", asked: 2},
		{name: "nothing in the cache", address: "", asked: 2},
		{name: "offline", cache: []map[string]string{inCache(old, "model.safetensors"), main}, address: "", offline: "1", path: "snapshots/" + old + "/model.safetensors",
			note: "HF_HUB_OFFLINE is set: this is the commit " + old + " of org/name, from the cache"},
		{name: "a commit offline", cache: []map[string]string{inCache(old, "model.safetensors")}, address: "@" + old, offline: "true", path: "snapshots/" + old + "/model.safetensors",
			note: "HF_HUB_OFFLINE is set: this is the commit " + old},
		{name: "a pull request offline", cache: []map[string]string{inCache(old, "model.safetensors"), {"refs/refs/pr/1": old}}, address: "@refs%2Fpr%2F1", offline: "1", path: "snapshots/" + old + "/model.safetensors", note: "HF_HUB_OFFLINE is set"},
		{name: "nothing in the cache, offline", address: "", offline: "1", err: ErrUnavailable, text: "HF_HUB_OFFLINE is set, and the cache does not have it"},
		{name: "another branch, offline", cache: []map[string]string{inCache(old, "model.safetensors"), main}, address: "@v1", offline: "1", err: fs.ErrNotExist, text: "download it with hf download org/name"},
		{name: "a missing file, offline", cache: []map[string]string{inCache(old, "model.safetensors"), main}, address: "/x.safetensors", offline: "1", err: fs.ErrNotExist, text: "x.safetensors"},
		{name: "a missing blob, offline", cache: []map[string]string{{"blobs/x": "", "snapshots/" + old + "/model.safetensors": "->../../blobs/none"}, main}, address: "", offline: "1", err: fs.ErrNotExist, text: `is a link to "../../blobs/none"`},
		{name: "a ref that leads out", cache: []map[string]string{inCache(old, "model.safetensors"), {"refs/main": "../.."}}, address: "", offline: "1", err: format.ErrCorrupt, text: "no name of a commit"},
		{name: "a damaged file in the cache", cache: []map[string]string{{"snapshots/" + old + "/model.safetensors": "GGUF\x03"}}, address: "@" + old, err: format.ErrTruncated},
		{name: "the Hub is down", cache: []map[string]string{inCache(old, "model.safetensors"), main}, address: "", down: true, path: "snapshots/" + old + "/model.safetensors", asked: 5,
			note: "the Hub cannot be reached: this is the commit " + old + " of org/name, from the cache"},
		{name: "the Hub is down, and the cache empty", address: "", down: true, asked: 5, err: ErrUnavailable},
		{name: "the Hub is down, and the cache lacks the branch", cache: []map[string]string{inCache(old, "model.safetensors")}, address: "", down: true, asked: 5, err: ErrUnavailable, text: "the Hub cannot be reached, and the cache does not have it"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := hubOf(t, files)
			h.down = tt.down
			t.Setenv("HF_HUB_OFFLINE", tt.offline)
			t.Setenv("HF_HUB_CACHE", "")
			home := t.TempDir()
			t.Setenv("HF_HOME", home)
			root := filepath.Join(home, "hub", "models--org--name")
			for _, all := range tt.cache {
				lay(t, root, all)
			}
			m, err := Open(t.Context(), "hf://org/name"+tt.address, quick())
			expect.Equal(t, tt.asked, total(h.hub.asked))
			if tt.err != nil {
				quiet(t, err, tt.err)
				if err == nil || !strings.Contains(err.Error(), tt.text) {
					t.Errorf("%v lacks %s", err, tt.text)
				}
				return
			}
			expect.OK(t, err)
			defer m.Close()
			want := ""
			if tt.path != "" {
				want = filepath.Join(root, filepath.FromSlash(tt.path))
			}
			expect.Equal(t, want, m.Path())
			expect.Equal(t, 1, m.Len())
			if notes := strings.Join(m.Notes(), "; "); !strings.HasPrefix(notes, tt.note) || tt.note == "" && strings.Contains(notes, "cache") {
				t.Errorf("notes %q, want %q", notes, tt.note)
			}
		})
	}
}

// TestHubOfflineReader: a reader has nothing to read offline.
func TestHubOfflineReader(t *testing.T) {
	h := hubOf(t, map[string]string{"/model.safetensors": shard("a", 5, 'a')})
	t.Setenv("HF_HUB_OFFLINE", "1")
	_, err := NewReaderAt(t.Context(), "hf://org/name", quick())
	if !errors.Is(err, ErrUnavailable) || total(h.hub.asked) > 0 {
		t.Errorf("%v after %v", err, h.hub.asked)
	}
}

// TestHubChoice: an error names the address that opens one of the models.
func TestHubChoice(t *testing.T) {
	for _, tt := range []struct {
		name    string
		files   []string
		want    string
		choices []string
	}{
		{"several GGUF files", []string{"m-Q4_0.gguf", "m-Q8_0.gguf"}, `the repository has several models: ["m-Q4_0.gguf" "m-Q8_0.gguf"]; open one by its hf:// address, such as hf://org/name/m-Q4_0.gguf`,
			[]string{"hf://org/name/m-Q4_0.gguf", "hf://org/name/m-Q8_0.gguf"}},
		{"a pipeline", []string{"model_index.json", "unet/config.json", "unet/diffusion_pytorch_model.safetensors", "vae/diffusion_pytorch_model.safetensors"},
			"open the model in one of its directories, such as hf://org/name/unet/diffusion_pytorch_model.safetensors",
			[]string{"hf://org/name/unet/diffusion_pytorch_model.safetensors", "hf://org/name/vae/diffusion_pytorch_model.safetensors"}},
		{"a pipeline with a directory without a model", []string{"unet/model.safetensors", "vae/README.md"}, "such as hf://org/name/unet/model.safetensors", []string{"hf://org/name/unet/model.safetensors"}},
		{"what tools leave", []string{"optimizer.pt"}, "open a file that is not the model by its hf:// address, such as hf://org/name/optimizer.pt", []string{"hf://org/name/optimizer.pt"}},
		{"a lost shard", []string{"m-00001-of-00002.safetensors"}, "only a part of a model: m-00002-of-00002.safetensors is not there", []string{"hf://org/name/m-00001-of-00002.safetensors"}},
		{"an unpacked archive", []string{"data.pkl", "data/0", "version"}, "the repository is a model of format torch in a directory: download it, with hf download org/name", nil},
		{"shards", []string{"m-00001-of-00002.safetensors", "m-00002-of-00002.safetensors"}, "the repository has 2 parts of a model and no index: download it, with hf download org/name", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			files := map[string]string{}
			for _, name := range tt.files {
				files["/"+name] = shard("a", 5, 'a')
			}
			hubOf(t, files)
			_, err := Open(t.Context(), "hf://org/name", quick())
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%v, want %s", err, tt.want)
			}
			var choice *format.ChoiceError
			if !errors.As(err, &choice) {
				choice = &format.ChoiceError{}
			}
			expect.Equal(t, tt.choices, choice.Names)
		})
	}
}

// TestHubAnswers: an answer that is no list of files is refused.
func TestHubAnswers(t *testing.T) {
	for _, answer := range []string{"", "[]", "{}", `{"sha":"x"}`, `{"sha":1}`, `{"sha":"` + commitOfMain + `","siblings":{}}`, `{"sha":"` + commitOfMain + `","siblings":[1]}`, "<html>", strings.Repeat("[", 1000)} {
		h := hubOf(t, nil)
		h.hub.gate = func(w http.ResponseWriter, r *http.Request) bool {
			w.Write([]byte(answer))
			return true
		}
		_, err := Open(t.Context(), "hf://org/name", quick())
		if !errors.Is(err, ErrAnswer) {
			t.Errorf("%.50q: %v, want ErrAnswer", answer, err)
		}
	}
	l, err := (&hub{}).parse([]byte(`{"sha":"` + commitOfMain + `","siblings":[{"rfilename":"../x"},{"rfilename":"a/../b"},{"rfilename":"/etc"},{"rfilename":"m.gguf"},{"rfilename":"m.gguf"},{"x":[{}],"rfilename":"a/b"}]}`))
	expect.OK(t, err)
	expect.Equal(t, []string{"a/b", "m.gguf"}, l.names)
}

func total(asked map[string]int) (n int) {
	for _, k := range asked {
		n += k
	}
	return n
}

// lay writes files, and links where the content begins with "->".
func lay(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, content := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		expect.OK(t, os.MkdirAll(filepath.Dir(path), 0o755))
		if target, ok := strings.CutPrefix(content, "->"); ok {
			expect.OK(t, os.Symlink(target, path))
		} else {
			expect.OK(t, os.WriteFile(path, []byte(content), 0o644))
		}
	}
}
