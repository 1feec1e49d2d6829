package remote

import (
	"context"
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
)

const secretToken = "hf_secret"

// hubSite is a server that answers as the Hub does: with a redirect to a signed address of another
// host, to who shows the token.
type hubSite struct {
	hub, cdn *httptest.Server
	mu       sync.Mutex
	asked    map[string]int // by path
	leaked   string         // Authorization that the other host got
	again    bool           // the other host redirects back
}

func hubOf(t *testing.T, files map[string]string) *hubSite {
	h := &hubSite{asked: map[string]int{}}
	h.cdn = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.asked["cdn "+r.URL.Path]++
		h.leaked += r.Header.Get("Authorization")
		if h.again {
			http.Redirect(w, r, h.hub.URL+"/org/name/resolve/main"+r.URL.Path, http.StatusFound)
			return
		}
		if r.URL.Query().Get("X-Amz-Signature") != "s3cr3t" {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		w.Header().Set("ETag", fmt.Sprintf(`"%x"`, len(r.URL.Path)))
		http.ServeContent(w, r, "", time.Time{}, strings.NewReader(files[r.URL.Path]))
	}))
	t.Cleanup(h.cdn.Close)
	h.hub = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.asked["hub "+r.URL.Path]++
		path, ok := strings.CutPrefix(r.URL.Path, "/org/name/resolve/main")
		if !ok {
			path, ok = strings.CutPrefix(r.URL.EscapedPath(), "/org/name/resolve/refs%2Fpr%2F1")
		}
		if !ok {
			path, ok = strings.CutPrefix(r.URL.Path, "/org/name/resolve/0123")
		}
		switch _, there := files[path]; {
		case r.Header.Get("Authorization") != "Bearer "+secretToken:
			w.WriteHeader(http.StatusUnauthorized)
		case !ok || !there:
			w.Header().Set("X-Error-Code", "EntryNotFound")
			w.WriteHeader(http.StatusNotFound)
		default:
			w.Header().Set("X-Linked-Etag", `"linked"`)
			w.Header().Set("X-Repo-Commit", "0123")
			http.Redirect(w, r, h.cdn.URL+(&url.URL{Path: path}).EscapedPath()+"?X-Amz-Signature=s3cr3t", http.StatusFound)
		}
	}))
	t.Cleanup(func() {
		h.hub.Close()
		if h.leaked != "" {
			t.Errorf("the other host was sent %q", h.leaked)
		}
	})
	t.Setenv("HF_ENDPOINT", h.hub.URL+"/")
	t.Setenv("HF_TOKEN", secretToken)
	return h
}

// TestHub opens models of a repository: each file takes a request of the Hub and one of the host that it redirects
// to, which gets no token, and the shards are those of the commit that the index is of.
func TestHub(t *testing.T) {
	sharded, requests := map[string]string{}, map[string]int{}
	for path, content := range threeShards() {
		path = strings.TrimPrefix(path, "/m")
		sharded[path] = content
		rev := "0123" // which the answer for the index names
		if strings.HasSuffix(path, ".index.json") {
			rev = "main"
		}
		requests["cdn "+path], requests["hub /org/name/resolve/"+rev+path] = 1, 1
	}
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
		{"no model", map[string]string{"/README.md": "#"}, "hf://org/name", 0, fs.ErrNotExist},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := hubOf(t, tt.files)
			m, err := Open(context.Background(), tt.address, quick())
			if tt.err != nil {
				quiet(t, err, tt.err)
				return
			}
			must(t, err)
			defer m.Close()
			if m.Len() != tt.tensors {
				t.Errorf("%d tensors, want %d", m.Len(), tt.tensors)
			}
			if diff := cmp.Diff(requests, h.asked); diff != "" && tt.name == "index of shards" {
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
		_, err := Open(context.Background(), "hf://org/name", quick())
		quiet(t, err, fs.ErrPermission)
		t.Setenv("HF_TOKEN", "")
		if _, err := Open(context.Background(), "hf://org/name", quick()); !errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), "HF_TOKEN") {
			t.Errorf("without access the error should say what gives it: %v", err)
		}
	})
	t.Run("redirect loop", func(t *testing.T) {
		h := hubOf(t, files)
		h.again = true
		_, err := Open(context.Background(), "hf://org/name/model.safetensors", &Options{Retries: -1})
		if err == nil {
			t.Error("no error")
		}
		quiet(t, err, err)
	})
	for _, address := range []string{
		"hf://", "hf://org", "hf://org/", "hf:///name", "hf://org/..", "hf://../name", "hf://org/name@", "hf://org/name@../x", "hf://org/name@%zz",
		"hf://org/name/../x", "hf://org/name//x", "hf://org/name/a\\b", "hf://user:pass@org/name", "hf://org/na?me", "hf://org/name@rev#x/..",
	} {
		if _, err := parseHub(address); !errors.Is(err, format.ErrOption) {
			t.Errorf("%s: %v", address, err)
		}
	}
}
