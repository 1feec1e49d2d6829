package remote

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"strings"
	"sync/atomic"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/wire"
)

// hubScheme is the scheme of addresses on the Hugging Face Hub.
const hubScheme = "hf://"

// mainRevision is the branch that counts if an address names no revision.
const mainRevision = "main"

// hub is an address hf://ORG/NAME[@REV][/FILE] at an endpoint.
type hub struct{ endpoint, repo, rev, file string }

// parseHub parses an address.
func parseHub(address string) (h hub, err error) {
	h.endpoint, err = hubEndpoint()
	if err != nil {
		return h, err
	}
	path := strings.TrimPrefix(address, hubScheme)
	if strings.ContainsAny(path, "?#") {
		return h, fmt.Errorf("%w: an hf:// address has no query and no fragment", format.ErrOption)
	}
	org, rest, _ := strings.Cut(path, "/")
	rest, h.file, _ = strings.Cut(rest, "/")
	name, rev, named := strings.Cut(rest, "@")
	if !named {
		rev = mainRevision
	}
	h.repo = org + "/" + name
	h.rev, err = url.PathUnescape(rev)
	ok := isHubName(org) && isHubName(name) && err == nil && isHubPath(h.rev)
	if h.file != "" {
		ok = ok && isHubPath(h.file)
	}
	if !ok {
		return h, fmt.Errorf("%w: want hf://ORG/NAME[@REV][/FILE]", format.ErrOption) // it may have a password
	}
	return h, nil
}

// hubEndpoint returns the Hub's address, without a slash at its end.
func hubEndpoint() (string, error) {
	endpoint := strings.TrimRight(cmp.Or(os.Getenv("HF_ENDPOINT"), "https://huggingface.co"), "/")
	u, err := url.Parse(endpoint)
	isWeb := err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Hostname() != ""
	if !isWeb || u.User != nil || strings.ContainsAny(endpoint, `?#\`) {
		return "", fmt.Errorf("%w: HF_ENDPOINT is not an address like https://huggingface.co, without user, query and fragment", format.ErrOption)
	}
	return endpoint, nil
}

// hubToken returns the token for the Hub, or "".
func hubToken() (string, error) {
	token := os.Getenv("HF_TOKEN")
	if strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return "", fmt.Errorf("%w: HF_TOKEN has a space, a line feed or another character that no token has", format.ErrOption)
	}
	return token, nil
}

// isHubPath reports whether s can be a revision, or the path of a file.
func isHubPath(s string) bool {
	return fs.ValidPath(s) && s != "." && !strings.ContainsAny(s, `?#\`)
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
	if isOffline() {
		return nil, wire.Place(fmt.Errorf("%w: HF_HUB_OFFLINE is set", ErrUnavailable), "", address, "")
	}
	return h.read(ctx, nil, o)
}

// read returns the Reader of the file that opens the model. list is what the Hub lists, or nil.
func (h *hub) read(ctx context.Context, list *listing, o *Options) (r *Reader, err error) {
	if h.file == "" && list == nil {
		list, err = h.ask(ctx, o)
	}
	file := h.file
	if err == nil && file == "" {
		file, err = list.choose(o)
	}
	if err != nil {
		return nil, wire.Place(err, "", h.String(), "")
	}
	h.file = file
	if list != nil {
		h.rev = list.commit
	}
	object, err := h.object(h.url(), o)
	if err != nil {
		return nil, err
	}
	object.commit = new(atomic.Pointer[string])
	r, err = NewObjectReaderAt(ctx, object, o)
	if err != nil {
		return nil, explainAccess(err)
	}
	if commit := object.commit.Load(); commit != nil {
		h.rev = *commit // of the model's other files, too
		object.base, err = url.Parse(h.url())
	}
	return r, err
}

// object returns the object at an address of the Hub, with the token.
func (h *hub) object(address string, o *Options) (*httpObject, error) {
	token, err := hubToken()
	if err != nil {
		return nil, err
	}
	object, err := newHTTPObject(address, o)
	if err != nil {
		return nil, err
	}
	if token != "" {
		object.header.Set("Authorization", "Bearer "+token)
	}
	return object, nil
}

// explainAccess says in an error of the Hub what gives access.
func explainAccess(err error) error {
	if errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("%w; the repository is private or gated, or there is none of that name: "+
			"HF_TOKEN needs a token that may read it", err)
	}
	return err
}

// String returns the address.
func (h *hub) String() string {
	address := hubScheme + h.repo
	if h.rev != mainRevision {
		address += "@" + url.PathEscape(h.rev)
	}
	if h.file != "" {
		address += "/" + h.file
	}
	return address
}
