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

	"github.com/weightmap/weightmap/format"
)

// hubScheme is what the address of a model on the Hugging Face Hub begins with.
const hubScheme = "hf://"

// hubFiles are tried in turn where an address names no file.
var hubFiles = []string{"model.safetensors.index.json", "model.safetensors", "pytorch_model.bin.index.json", "pytorch_model.bin", "model.onnx"}

// hub is an address hf://ORG/NAME[@REV][/FILE].
type hub struct{ repo, rev, file string }

// parseHub takes an address apart.
func parseHub(address string) (h hub, err error) {
	parts := strings.SplitN(strings.TrimPrefix(address, hubScheme), "/", 3)
	ok := len(parts) > 1 && isHubName(parts[0])
	if ok {
		name, rev, named := strings.Cut(parts[1], "@")
		h.repo, h.rev = parts[0]+"/"+name, "main"
		if named {
			h.rev, err = url.PathUnescape(rev)
		}
		ok = isHubName(name) && err == nil && fs.ValidPath(h.rev) && h.rev != "."
	}
	if ok && len(parts) == 3 && parts[2] != "" {
		h.file = parts[2]
		ok = fs.ValidPath(h.file) && !strings.Contains(h.file, `\`)
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

// url returns the address of a file at an endpoint.
func (h *hub) url(endpoint, file string) string {
	parts := strings.Split(file, "/")
	for i, p := range parts {
		parts[i] = url.PathEscape(p)
	}
	return strings.TrimRight(endpoint, "/") + "/" + h.repo + "/resolve/" + url.PathEscape(h.rev) + "/" + strings.Join(parts, "/")
}

// newHubReader is NewReaderAt for a model on the Hub.
func newHubReader(ctx context.Context, address string, o *Options) (*Reader, error) {
	h, err := parseHub(address)
	if err != nil {
		return nil, err
	}
	endpoint := cmp.Or(os.Getenv("HF_ENDPOINT"), "https://huggingface.co")
	files := hubFiles
	if h.file != "" {
		files = []string{h.file}
	}
	for _, file := range files {
		object, err := newHTTPObject(h.url(endpoint, file), o)
		if err != nil {
			return nil, fmt.Errorf("HF_ENDPOINT: %w", err)
		}
		object.authorize(os.Getenv("HF_TOKEN"))
		r, err := NewObjectReaderAt(ctx, object, o)
		if err == nil || h.file != "" || !errors.Is(err, fs.ErrNotExist) {
			return r, err
		}
	}
	return nil, &format.Error{Path: address, Offset: -1, Err: fmt.Errorf("%w: the repository has none of %q; hf://ORG/NAME/FILE names another file", fs.ErrNotExist, hubFiles)}
}

// authorize sends a token with the requests to the host of the object, and to no other.
func (h *httpObject) authorize(token string) {
	at, err := url.Parse(h.url)
	if err != nil || token == "" {
		return
	}
	c := *h.client
	if c.Transport == nil {
		c.Transport = defaultTransport()
	}
	c.Transport = &bearer{at.Scheme, at.Host, "Bearer " + token, c.Transport}
	h.client = &c
}

// bearer is a transport that adds a token to the requests for one host. It does not redirect: that
// is above it, so a request for another host has no token.
type bearer struct {
	scheme, host, token string
	next                http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (b *bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Scheme == b.scheme && r.URL.Host == b.host {
		r = r.Clone(r.Context())
		r.Header.Set("Authorization", b.token)
	}
	return b.next.RoundTrip(r)
}
