package remote

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/weightmap/weightmap/format"
)

// mostHeader limits response headers. The default of net/http is 10 MiB, which can take more than a
// gigabyte of memory.
const mostHeader = 64 << 10

// defaultTransport keeps as many idle connections as concurrent requests; the default of net/http is
// two per host.
var defaultTransport = sync.OnceValue(func() http.RoundTripper {
	t, ok := http.DefaultTransport.(*http.Transport)
	if !ok {
		return http.DefaultTransport
	}
	t = t.Clone()
	t.MaxIdleConnsPerHost = 64
	t.MaxResponseHeaderBytes = mostHeader
	return t
})

// httpObject is an object behind HTTP. Each attempt is one GET.
type httpObject struct {
	client *http.Client
	url    *url.URL
	base   *url.URL // other files of the model are next to it
	header http.Header
}

func newHTTPObject(address string, o *Options) (*httpObject, error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme == "" || strings.HasPrefix(u.Scheme, "http") && u.Hostname() == "" {
		return nil, fmt.Errorf("%w: the address is no URL with a host", format.ErrOption)
	}
	client := *cmp.Or(o.Client, &http.Client{})
	client.Transport = cmp.Or(client.Transport, defaultTransport())
	return &httpObject{&client, u, u, o.Header.Clone()}, nil
}

// Get implements Object.
func (h *httpObject) Get(ctx context.Context, off, n int64, known Version) (Answer, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, h.url.String(), nil)
	if err != nil {
		return Answer{}, err
	}
	maps.Copy(req.Header, h.header)
	req.Header.Set("Range", fmt.Sprintf("bytes=%d-%d", off, off+n-1))
	req.Header.Set("Accept-Encoding", "identity")
	req.Header.Del("If-Range")
	if known.Strong {
		req.Header.Set("If-Range", known.Tag)
	}
	resp, err := h.client.Do(req)
	if err != nil {
		return Answer{}, unsent(err, resp != nil)
	}
	v, err := (*reply)(resp).judge(off, n, known)
	if err != nil {
		resp.Body.Close()
		return Answer{}, err
	}
	return Answer{v, resp.Body}, nil
}

// Sibling implements Directory. It keeps the query, which may be credentials for the directory.
func (h *httpObject) Sibling(name string) (Object, error) {
	if h.url.Opaque != "" {
		return nil, fmt.Errorf("%w: %s is in no directory", format.ErrUnsupported, h)
	}
	s := *h
	s.url = h.base.ResolveReference(&url.URL{Path: "./" + name})
	s.url.RawQuery = h.url.RawQuery
	s.base = s.url
	return &s, nil
}

// String returns the URL without user and query, which may be credentials.
func (h *httpObject) String() string {
	u := url.URL{Scheme: h.url.Scheme, Host: h.url.Host, Path: h.url.Path}
	return fmt.Sprintf("%.500s", u.String())
}

// Errors of net/http for requests that it cannot send, because of Options.Header or a URL. There are
// no sentinels, and another attempt cannot help.
var unsendable = []string{"unsupported protocol scheme", "net/http: invalid header field"}

// unsent classifies the error of a request without a response. If refused is set, the client has a
// response but did not follow its redirect.
func unsent(err error, refused bool) error {
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err
	}
	clean := heard(err)
	var untrusted *tls.CertificateVerificationError
	switch {
	case refused || errors.As(err, &untrusted) || errors.Is(err, http.ErrSchemeMismatch):
		return clean
	case slices.ContainsFunc(unsendable, func(text string) bool { return strings.HasPrefix(err.Error(), text) }):
		return fmt.Errorf("%w: %w", format.ErrOption, clean)
	}
	return &Temporary{Err: clean}
}

// said is an error of net/http with a text that is safe to print.
type said struct {
	text string
	err  error
}

func (s *said) Error() string { return s.text }

// Unwrap hides io.EOF, which the model's reader would take for the end of the object.
func (s *said) Unwrap() error {
	if errors.Is(s.err, io.EOF) || errors.Is(s.err, io.ErrUnexpectedEOF) {
		return nil
	}
	return s.err
}

// heard removes what the server sent from an error of net/http, which may quote a URL with
// credentials. It limits the text and replaces unprintable characters: hosts and names in certificates
// come from the server.
func heard(err error) error {
	text, _, quoted := strings.Cut(err.Error(), `"`)
	if quoted {
		text = strings.TrimRight(text, " :=(") + "..."
	}
	text = strings.Map(func(r rune) rune {
		if strconv.IsPrint(r) {
			return r
		}
		return '?'
	}, text)
	return &said{fmt.Sprintf("%.300s", text), err}
}
