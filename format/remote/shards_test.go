package remote

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/tensor"
)

// site serves files by their paths, and counts the requests for each.
type site struct {
	*httptest.Server
	mu    sync.Mutex
	files map[string]string
	tags  map[string]string
	asked map[string]int
	gate  func(w http.ResponseWriter, r *http.Request) bool // reports whether it has answered
}

func host(t *testing.T, files map[string]string) *site {
	s := &site{files: files, tags: map[string]string{}, asked: map[string]int{}}
	s.Server = httptest.NewServer(http.HandlerFunc(s.answer))
	t.Cleanup(s.Close)
	return s
}

func (s *site) answer(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	content, ok := s.files[r.URL.Path]
	tag := s.tags[r.URL.Path]
	s.asked[r.URL.Path]++
	answered := s.gate != nil && s.gate(w, r)
	s.mu.Unlock()
	if answered {
		return
	}
	if !ok {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("ETag", `"v`+tag+`"`)
	http.ServeContent(w, r, "", time.Time{}, strings.NewReader(content))
}

// most returns how often the file was requested that was requested most.
func (s *site) most() (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, k := range s.asked {
		n = max(n, k)
	}
	return n
}

// shard is a safetensors file with a tensor of n bytes, all of them b.
func shard(name string, n int, b byte) string {
	head := fmt.Sprintf(`{%q:{"dtype":"U8","shape":[%d],"data_offsets":[0,%d]}}`, name, n, n)
	return string(binary.LittleEndian.AppendUint64(nil, uint64(len(head)))) + head + strings.Repeat(string(rune(b)), n)
}

// threeShards are a sharded model. Its shards are larger than a window.
func threeShards() map[string]string {
	return map[string]string{
		"/m/model.safetensors.index.json": `{"weight_map":{"a":"s 1.safetensors","b":"s2%2e.safetensors","c":"s3:.safetensors"}}`,
		"/m/s 1.safetensors":              shard("a", 600_000, 'a'), "/m/s2%2e.safetensors": shard("b", 600_000, 'b'), "/m/s3:.safetensors": shard("c", 600_000, 'c'),
	}
}

// TestShards: a model of several files takes a request a file to be opened, and hands out what is in each.
func TestShards(t *testing.T) {
	s := host(t, threeShards())
	m, err := Open(t.Context(), s.URL+"/m/model.safetensors.index.json?token=x", quick())
	expect.OK(t, err)
	expect.Equal(t, map[string]int{"/m/model.safetensors.index.json": 1, "/m/s 1.safetensors": 1, "/m/s2%2e.safetensors": 1, "/m/s3:.safetensors": 1}, s.asked)
	for name, v := range m.Tensors() {
		b, err := v.Bytes()
		if err != nil || len(b) != 600_000 || bytes.Count(b, []byte(name)) != len(b) {
			t.Errorf("%s: %d bytes, %v", name, len(b), err)
		}
	}
	_, err = m.Verify(t.Context(), nil)
	expect.OK(t, err)
	v, _ := m.Tensor("b")
	// A shard that is replaced is another version; the others stay readable.
	s.mu.Lock()
	s.tags["/m/s2%2e.safetensors"] = "2"
	s.mu.Unlock()
	if _, err := v.ReadInto(make([]byte, 600_000)); !errors.Is(err, ErrChanged) || !strings.Contains(err.Error(), "s2%252e.safetensors") || strings.Contains(err.Error(), "token") {
		t.Errorf("a shard that was replaced: %v", err)
	}
	_, err = m.At(0).Bytes()
	expect.OK(t, err)
	expect.OK(t, m.Close())
	expect.Refused(t, tensor.ErrClosed)(v.Bytes())
}

// TestName: an array without a name takes that of its file, as it does on disk.
func TestName(t *testing.T) {
	head := fmt.Sprintf("%-117s\n", "{'descr': '|u1', 'fortran_order': False, 'shape': (1,)}")
	s := host(t, map[string]string{"/m/a.npy": "\x93NUMPY\x01\x00" + string(binary.LittleEndian.AppendUint16(nil, uint16(len(head)))) + head + "x"})
	m, err := Open(t.Context(), s.URL+"/m/a.npy?token=x", quick())
	expect.OK(t, err)
	defer m.Close()
	expect.Equal(t, "a", m.At(0).Name())
}

// TestShardsRefused: what is not a file next to the index is not asked for.
func TestShardsRefused(t *testing.T) {
	for _, tt := range []struct {
		name, shard string
		err         error
		asked       int
	}{
		{"above", "../x", format.ErrCorrupt, 1},
		{"absolute", "/etc/passwd", format.ErrCorrupt, 1},
		{"below", "a/b", format.ErrUnsupported, 1},
		{"backslash", `a\\b`, format.ErrUnsupported, 1},
		{"missing", "none", fs.ErrNotExist, 2},
		{"a URL", "http:x", fs.ErrNotExist, 2},
		{"a query", "x?y=z", fs.ErrNotExist, 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := host(t, map[string]string{"/m/i.index.json": `{"weight_map":{"a":"` + tt.shard + `"}}`, "/x": shard("a", 1, 1), "/m/a/b": shard("a", 1, 1), "/m/x": shard("a", 1, 1)})
			_, err := Open(t.Context(), s.URL+"/m/i.index.json", quick())
			if n := len(s.asked); !errors.Is(err, tt.err) || n != tt.asked || s.most() != 1 {
				t.Errorf("%v after requests %v, want %v", err, s.asked, tt.err)
			}
		})
	}
}

const secretToken = "hf_secret"

// hubSite is a server that answers as the Hub does: with a redirect to a signed address of another
// host, to who shows the token.
type hubSite struct {
	hub, cdn *site
	leaked   string // Authorization that the other host got
	again    bool   // the other host redirects back
	down     bool   // the server answers that it is unavailable
}

// commitOfMain is the commit of the branch main.
const commitOfMain = "0123456789abcdef0123456789abcdef01234567"

func hubOf(t *testing.T, files map[string]string) *hubSite {
	h := &hubSite{hub: host(t, nil), cdn: host(t, files)}
	h.cdn.gate = func(w http.ResponseWriter, r *http.Request) bool {
		h.leaked += r.Header.Get("Authorization")
		if h.again {
			http.Redirect(w, r, h.hub.URL+"/org/name/resolve/main"+r.URL.Path, http.StatusFound)
			return true
		}
		isSigned := r.URL.Query().Get("X-Amz-Signature") == "s3cr3t"
		if !isSigned {
			w.WriteHeader(http.StatusForbidden)
		}
		return !isSigned
	}
	h.hub.gate = func(w http.ResponseWriter, r *http.Request) bool {
		if h.down {
			w.WriteHeader(http.StatusServiceUnavailable)
			return true
		}
		if rev, ok := strings.CutPrefix(r.URL.EscapedPath(), "/api/models/org/name/revision/"); ok {
			h.list(w, r, rev, files)
			return true
		}
		path, ok := strings.CutPrefix(r.URL.Path, "/org/name/resolve/main")
		if !ok {
			path, ok = strings.CutPrefix(r.URL.EscapedPath(), "/org/name/resolve/refs%2Fpr%2F1")
		}
		if !ok {
			path, ok = strings.CutPrefix(r.URL.Path, "/org/name/resolve/"+commitOfMain)
		}
		switch _, there := files[path]; {
		case r.Header.Get("Authorization") != "Bearer "+secretToken:
			w.WriteHeader(http.StatusUnauthorized)
		case !ok || !there:
			w.Header().Set("X-Error-Code", "EntryNotFound")
			w.WriteHeader(http.StatusNotFound)
		default:
			w.Header().Set("X-Linked-Etag", `"linked"`)
			w.Header().Set("X-Repo-Commit", commitOfMain)
			http.Redirect(w, r, h.cdn.URL+(&url.URL{Path: path}).EscapedPath()+"?X-Amz-Signature=s3cr3t", http.StatusFound)
		}
		return true
	}
	t.Cleanup(func() {
		h.cdn.mu.Lock()
		defer h.cdn.mu.Unlock()
		if h.leaked != "" {
			t.Errorf("the other host was sent %q", h.leaked)
		}
	})
	t.Setenv("HF_ENDPOINT", h.hub.URL+"/")
	t.Setenv("HF_TOKEN", secretToken)
	t.Setenv("HF_HUB_CACHE", t.TempDir())
	t.Setenv("HF_HUB_OFFLINE", "")
	return h
}

// list answers which files a revision has.
func (h *hubSite) list(w http.ResponseWriter, r *http.Request, rev string, files map[string]string) {
	switch {
	case r.Header.Get("Authorization") != "Bearer "+secretToken:
		w.WriteHeader(http.StatusUnauthorized)
	case rev != "main" && rev != "refs%2Fpr%2F1" && rev != commitOfMain:
		w.WriteHeader(http.StatusNotFound)
	default:
		var siblings []map[string]any
		for path := range files {
			siblings = append(siblings, map[string]any{"rfilename": path[1:], "size": 1})
		}
		json.NewEncoder(w).Encode(map[string]any{"id": "org/name", "sha": commitOfMain, "siblings": siblings, "tags": []string{"x"}, "gated": nil})
	}
}

// TestHub opens models of a repository: each file takes a request of the Hub and one of the host that it redirects
// to, which gets no token, and the shards are those of the commit that the index is of.
func TestHub(t *testing.T) {
	sharded, hub, cdn := map[string]string{}, map[string]int{}, map[string]int{}
	for path, content := range threeShards() {
		path = strings.TrimPrefix(path, "/m")
		sharded[path] = content
		hub["/org/name/resolve/"+commitOfMain+path], cdn[path] = 1, 1
	}
	hub["/api/models/org/name/revision/main"] = 1
	sharded["/sub/x.safetensors"] = shard("x", 5, 'x')
	one := map[string]string{"/model.safetensors": shard("a", 5, 'a')}
	for _, tt := range []struct {
		name    string
		files   map[string]string
		address string
		tensors int
		err     error
	}{
		{"index of shards", sharded, "hf://org/name", 3, nil},
		{"one file", one, "hf://org/name/", 1, nil},
		{"a file", sharded, "hf://org/name/sub/x.safetensors", 1, nil},
		{"a file of a revision", sharded, "hf://org/name@main/s3:.safetensors", 1, nil},
		{"a revision with a slash", one, "hf://org/name@refs%2Fpr%2F1", 1, nil},
		{"no such file", one, "hf://org/name/none.gguf", 0, fs.ErrNotExist},
		{"no such revision", one, "hf://org/name@none", 0, fs.ErrNotExist},
		{"no model", map[string]string{"/README.md": "#"}, "hf://org/name", 0, format.ErrUnknownFormat},
		{"a commit", one, "hf://org/name@" + commitOfMain, 1, nil},
		{"a lone model", map[string]string{"/README.md": "#", "/m.safetensors": shard("a", 5, 'a'), "/sub/n.safetensors": ""}, "hf://org/name", 1, nil},
		{"several models", map[string]string{"/m-Q4_0.gguf": "", "/m-Q8_0.gguf": ""}, "hf://org/name", 0, format.ErrUnsupported},
		{"shards without an index", map[string]string{"/m-00001-of-00002.safetensors": "", "/m-00002-of-00002.safetensors": ""}, "hf://org/name", 0, format.ErrUnsupported},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := hubOf(t, tt.files)
			m, err := Open(t.Context(), tt.address, quick())
			if tt.err != nil {
				quiet(t, err, tt.err)
				return
			}
			expect.OK(t, err)
			defer m.Close()
			if m.Len() != tt.tensors {
				t.Errorf("%d tensors, want %d", m.Len(), tt.tensors)
			}
			if diff := cmp.Diff([]map[string]int{hub, cdn}, []map[string]int{h.hub.asked, h.cdn.asked}); diff != "" && tt.name == "index of shards" {
				t.Errorf("requests (-want +got)\n%s", diff)
			}
			for name, v := range m.Tensors() {
				if b, err := v.Bytes(); err != nil || strings.Trim(string(b), name) != "" {
					t.Errorf("%s: %v", name, err)
				}
			}
		})
	}
}

// quiet demands an error of that kind which names neither token nor signature.
func quiet(t *testing.T, err, want error) {
	t.Helper()
	if !errors.Is(err, want) || strings.Contains(err.Error(), secretToken) || strings.Contains(err.Error(), "s3cr3t") || strings.Contains(err.Error(), "Signature") {
		t.Errorf("%v, want %v without secrets", err, want)
	}
}

// TestHubFailures: what goes wrong is said without secrets.
func TestHubFailures(t *testing.T) {
	files := map[string]string{"/model.safetensors": shard("a", 5, 'a')}
	t.Run("wrong token", func(t *testing.T) {
		hubOf(t, files)
		t.Setenv("HF_TOKEN", "hf_other")
		_, err := Open(t.Context(), "hf://org/name", quick())
		quiet(t, err, fs.ErrPermission)
		t.Setenv("HF_TOKEN", "")
		if _, err := Open(t.Context(), "hf://org/name", quick()); !errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), "HF_TOKEN") {
			t.Errorf("without access the error should say what gives it: %v", err)
		}
	})
	t.Run("redirect loop", func(t *testing.T) {
		h := hubOf(t, files)
		h.again = true
		_, err := Open(t.Context(), "hf://org/name/model.safetensors", &Options{Retries: -1})
		if err == nil {
			t.Error("no error")
		}
		quiet(t, err, err)
	})
	for _, address := range []string{
		"hf://", "hf://org", "hf://org/", "hf:///name", "hf://org/..", "hf://../name", "hf://org/name@", "hf://org/name@../x", "hf://org/name@%zz",
		"hf://org/name/../x", "hf://org/name//x", "hf://org/name/a\\b", "hf://user:pass@org/name", "hf://org/na?me", "hf://org/name@rev#x/..",
	} {
		expect.Refused(t, format.ErrOption, address)(parseHub(address))
	}
}
