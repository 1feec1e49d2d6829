package remote

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync/atomic"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/wire"
)

// hubScheme is the scheme of addresses on the Hugging Face Hub.
const hubScheme = "hf://"

// hubFiles are tried in turn if an address names no file.
var hubFiles = []string{
	"model.safetensors.index.json", "model.safetensors",
	"pytorch_model.bin.index.json", "pytorch_model.bin",
	"model.onnx",
}

// hub is an address hf://ORG/NAME[@REV][/FILE] at an endpoint.
type hub struct{ endpoint, repo, rev, file string }

// parseHub parses an address.
func parseHub(address string) (h hub, err error) {
	h.endpoint = strings.TrimRight(cmp.Or(os.Getenv("HF_ENDPOINT"), "https://huggingface.co"), "/")
	org, rest, _ := strings.Cut(strings.TrimPrefix(address, hubScheme), "/")
	rest, h.file, _ = strings.Cut(rest, "/")
	name, rev, named := strings.Cut(rest, "@")
	if !named {
		rev = "main"
	}
	h.repo = org + "/" + name
	h.rev, err = url.PathUnescape(rev)
	ok := isHubName(org) && isHubName(name) && err == nil && fs.ValidPath(h.rev) && h.rev != "."
	if h.file != "" {
		ok = ok && fs.ValidPath(h.file) && !strings.Contains(h.file, `\`)
	}
	if !ok {
		return h, fmt.Errorf("%w: %.500q is not hf://ORG/NAME[@REV][/FILE]", format.ErrOption, address)
	}
	return h, nil
}

// isHubName reports whether s can be the name of an organization or a repository.
func isHubName(s string) bool {
	return s != "" && s[0] != '.' && strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.") == ""
}

// url returns the address of the file.
func (h *hub) url() string {
	return h.endpoint + "/" + h.repo + "/resolve/" + url.PathEscape(h.rev) + (&url.URL{Path: "/" + h.file}).EscapedPath()
}

// newHubReader is NewReaderAt for a model on the Hub.
func newHubReader(ctx context.Context, address string, o *Options) (*Reader, error) {
	h, err := parseHub(address)
	if err != nil {
		return nil, err
	}
	files, named := hubFiles, h.file != ""
	if named {
		files = []string{h.file}
	}
	for _, h.file = range files {
		object, err := newHTTPObject(h.url(), o)
		if err != nil {
			return nil, fmt.Errorf("HF_ENDPOINT: %w", err)
		}
		t := &hubTransport{scheme: object.url.Scheme, host: object.url.Host, token: os.Getenv("HF_TOKEN"), next: object.client.Transport}
		object.client.Transport = t
		r, err := NewObjectReaderAt(ctx, object, o)
		if errors.Is(err, fs.ErrPermission) {
			err = fmt.Errorf("%w; the repository is private or gated, or there is none of that name: "+
				"HF_TOKEN needs a token that may read it", err)
		}
		if commit := t.seen.Load(); err == nil && commit != nil {
			h.rev = *commit // of the model's other files, too
			object.base, err = url.Parse(h.url())
		}
		if err == nil || named || !errors.Is(err, fs.ErrNotExist) {
			return r, err
		}
	}
	err = fmt.Errorf("%w: the repository has none of %q; hf://ORG/NAME/FILE names another file", fs.ErrNotExist, hubFiles)
	return nil, wire.Explain(err, "", address)
}

// hubTransport sends the token with requests to the Hub only: the client follows redirects above it,
// so requests to other hosts have no token. It remembers the commit that the Hub names.
type hubTransport struct {
	scheme, host, token string
	next                http.RoundTripper
	seen                atomic.Pointer[string]
}

// RoundTrip implements http.RoundTripper.
func (t *hubTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Scheme != t.scheme || r.URL.Host != t.host {
		return t.next.RoundTrip(r)
	}
	if t.token != "" {
		r = r.Clone(r.Context())
		r.Header.Set("Authorization", "Bearer "+t.token)
	}
	answer, err := t.next.RoundTrip(r)
	if err == nil {
		if commit := answer.Header.Get("X-Repo-Commit"); isHubName(commit) {
			t.seen.CompareAndSwap(nil, &commit)
		}
	}
	return answer, err
}
