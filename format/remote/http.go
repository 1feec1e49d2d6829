package remote

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/weightmap/weightmap/format"
)

// httpObject is an object behind HTTP. Each attempt is one GET.
type httpObject struct {
	client *http.Client
	url    string
	name   string // the URL without user and query
	header http.Header
}

func newHTTPObject(address string, o *Options) (*httpObject, error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme == "" {
		return nil, fmt.Errorf("%w: %.500q is no URL", format.ErrOption, describe(u))
	}
	if err := checkHost(u); err != nil {
		return nil, fmt.Errorf("%w: %.500q %w", format.ErrOption, describe(u), err)
	}
	h := &httpObject{client: bounded(nil), url: address, name: fmt.Sprintf("%.500s", describe(u)), header: http.Header{}}
	if o != nil && o.Client != nil {
		h.client = o.Client
		if u.Scheme == "http" || u.Scheme == "https" { // protocols that were registered are not copied
			h.client = bounded(o.Client)
		}
	}
	if o != nil && o.Header != nil {
		h.header = o.Header.Clone()
	}
	return h, nil
}

var (
	errNoHost = errors.New("names no host")
	errPort   = errors.New("has a port beyond 65535")
)

// checkHost refuses hosts that no client can connect to. It leaves schemes other than HTTP to the
// client.
func checkHost(u *url.URL) error {
	if u.Scheme != "http" && u.Scheme != "https" {
		return nil
	}
	if u.Hostname() == "" {
		return errNoHost
	}
	if port := u.Port(); port != "" {
		if _, err := strconv.ParseUint(port, 10, 16); err != nil {
			return errPort
		}
	}
	return nil
}

// describe returns a URL for messages, without user and query, which may be credentials.
func describe(u *url.URL) string {
	if u == nil {
		return "what was given"
	}
	c := url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}
	return c.String()
}

// Get implements Object.
func (h *httpObject) Get(ctx context.Context, off, n int64, known Version) (Answer, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, h.url, nil)
	if err != nil {
		return Answer{}, err
	}
	req.Header = h.header.Clone()
	req.Header.Set("Range", fmt.Sprintf("bytes=%d-%d", off, off+n-1))
	req.Header.Set("Accept-Encoding", "identity")
	req.Header.Del("If-Range")
	if known.Strong {
		req.Header.Set("If-Range", known.Tag)
	}
	resp, err := h.client.Do(req)
	if err != nil {
		return Answer{}, h.unsent(err, resp != nil)
	}
	a := reply{resp.StatusCode, resp.Header, resp.ContentLength, resp.Uncompressed}
	v, err := a.judge(off, n, known)
	body := resp.Body
	if err == nil && v.Size < 0 {
		body, v.Size, err = whole(resp.Body, n)
	}
	if err != nil {
		resp.Body.Close()
		return Answer{}, err
	}
	if v.Size == 0 && body == resp.Body {
		body.Close() // it may be a page that says so
		body = http.NoBody
	}
	return Answer{v, body}, nil
}

// Sibling implements Directory. It keeps the query, which may be credentials for the directory.
func (h *httpObject) Sibling(name string) (Object, error) {
	u, err := url.Parse(h.url)
	if err != nil || u.Opaque != "" {
		return nil, fmt.Errorf("%w: %s is in no directory", format.ErrUnsupported, h.name)
	}
	next := u.ResolveReference(&url.URL{Path: "./" + name})
	next.RawQuery = u.RawQuery
	s := *h
	s.url, s.name = next.String(), fmt.Sprintf("%.500s", describe(next))
	return &s, nil
}

// String returns the URL without user and query.
func (h *httpObject) String() string { return h.name }

// unsent classifies the error of a request without a response. It removes the URL, which may contain
// credentials, from the error of net/http. If refused is set, the client has a response but did not
// follow its redirect.
func (h *httpObject) unsent(err error, refused bool) error {
	where := ""
	var u *url.Error
	if errors.As(err, &u) {
		err, where = u.Err, h.elsewhere(u.URL)
	}
	var untrusted *tls.CertificateVerificationError
	if refused || errors.As(err, &untrusted) || errors.Is(err, http.ErrSchemeMismatch) {
		return apart(heard(where, err))
	}
	says := err.Error()
	begins := func(text string) bool { return strings.HasPrefix(says, text) }
	switch {
	case begins(badLocation):
		return nonsense("a redirect to what is no URL") // it may contain credentials
	case slices.ContainsFunc(unsendable, begins):
		return fmt.Errorf("%w: %w", format.ErrOption, &said{where + printable(says), err})
	case strings.Contains(says, tooLarge):
		return nonsense("a header that is too large")
	}
	return &Temporary{Err: apart(heard(where, err))}
}

// elsewhere describes the host that a request was redirected to.
func (h *httpObject) elsewhere(address string) string {
	from, err := url.Parse(h.url)
	to, failed := url.Parse(address)
	if err != nil || failed != nil || from.Host == to.Host {
		return ""
	}
	return fmt.Sprintf("redirected to the host %.80q: ", to.Host)
}

// said is an error with a text that is safe to print.
type said struct {
	text string
	err  error
}

func (s *said) Error() string { return s.text }
func (s *said) Unwrap() error { return s.err }

// heard removes what the server sent from an error of net/http, which may quote a URL with
// credentials.
func heard(where string, err error) error {
	text, _, quoted := strings.Cut(err.Error(), `"`)
	if quoted {
		text = strings.TrimRight(text, " :=(") + "..."
	}
	return &said{where + printable(text), err}
}

// printable limits the length of a text and replaces unprintable characters: hosts and names in
// certificates come from the server.
func printable(s string) string {
	const most = 300
	s = strings.Map(func(r rune) rune {
		if strconv.IsPrint(r) {
			return r
		}
		return '?'
	}, s)
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "..."
	}
	return s
}

// Errors of net/http for requests that it cannot send, because of Options.Header or a URL. There are
// no sentinels, and another attempt cannot help.
var unsendable = []string{"unsupported protocol scheme", "http: no Host in request URL", "net/http: invalid header field"}

const (
	tooLarge    = "server response headers exceeded"
	badLocation = "failed to parse Location header"
)

// apart returns an error with the same text that does not wrap io.EOF, which the model's reader would
// take for the end of the object.
func apart(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("the connection ended: %v", err)
	}
	return err
}

// whole reads a body of unknown length, which must have at most n bytes.
func whole(body io.ReadCloser, n int64) (io.ReadCloser, int64, error) {
	b, err := io.ReadAll(io.LimitReader(body, n+1))
	if err != nil {
		return nil, 0, &Temporary{Err: apart(err)}
	}
	if int64(len(b)) > n {
		return nil, 0, errWhole
	}
	body.Close()
	return io.NopCloser(bytes.NewReader(b)), int64(len(b)), nil
}
