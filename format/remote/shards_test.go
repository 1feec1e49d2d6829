package remote

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/weightmap/weightmap/format"
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
	m, err := Open(context.Background(), s.URL+"/m/model.safetensors.index.json?token=x", quick())
	must(t, err)
	if diff := cmp.Diff(map[string]int{"/m/model.safetensors.index.json": 1, "/m/s 1.safetensors": 1, "/m/s2%2e.safetensors": 1, "/m/s3:.safetensors": 1}, s.asked); diff != "" {
		t.Error(diff)
	}
	for name, v := range m.Tensors() {
		b, err := v.Bytes()
		if err != nil || len(b) != 600_000 || bytes.Count(b, []byte(name)) != len(b) {
			t.Errorf("%s: %d bytes, %v", name, len(b), err)
		}
	}
	if _, err := m.Verify(context.Background()); err != nil {
		t.Error(err)
	}
	v, _ := m.Tensor("b")
	// A shard that is replaced is another version; the others stay readable.
	s.mu.Lock()
	s.tags["/m/s2%2e.safetensors"] = "2"
	s.mu.Unlock()
	if _, err := v.ReadInto(make([]byte, 600_000)); !errors.Is(err, ErrChanged) || !strings.Contains(err.Error(), "s2%252e.safetensors") || strings.Contains(err.Error(), "token") {
		t.Errorf("a shard that was replaced: %v", err)
	}
	if _, err := m.At(0).Bytes(); err != nil {
		t.Error(err)
	}
	must(t, m.Close())
	if _, err := v.Bytes(); !errors.Is(err, tensor.ErrClosed) {
		t.Error(err)
	}
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
			_, err := Open(context.Background(), s.URL+"/m/i.index.json", quick())
			if n := len(s.asked); !errors.Is(err, tt.err) || n != tt.asked || s.most() != 1 {
				t.Errorf("%v after requests %v, want %v", err, s.asked, tt.err)
			}
		})
	}
}
