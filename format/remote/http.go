package remote

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weightmap/weightmap/format"
)

// mostHeader limits response headers. The default of net/http is 10 MiB, which can take more than a
// gigabyte of memory.
const mostHeader = 64 << 10

// defaultTransport keeps as many idle connections as concurrent requests; the default of net/http
// is two per host.
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
	commit *atomic.Pointer[string] // what the Hub says in its first answer; nil for other servers
}

func newHTTPObject(address string, o *Options) (*httpObject, error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme == "" || strings.HasPrefix(u.Scheme, "http") && u.Hostname() == "" {
		return nil, fmt.Errorf("%w: the address has no host", format.ErrOption)
	}
	client := *cmp.Or(o.Client, &http.Client{})
	client.Transport = cmp.Or(client.Transport, defaultTransport())
	header := http.Header{}
	for name, values := range o.Header {
		for _, value := range values {
			header.Add(name, value)
		}
	}
	for _, name := range []string{"Range", "If-Range", "Accept-Encoding"} {
		header.Del(name)
	}
	return &httpObject{client: &client, url: u, base: u, header: header}, nil
}

// Get implements Object.
func (h *httpObject) Get(ctx context.Context, off, n int64, known Version) (Answer, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "", nil)
	if err != nil {
		return Answer{}, err
	}
	target := *h.url
	req.URL = &target
	req.Header = h.header.Clone()
	req.Header.Set("Range", fmt.Sprintf("bytes=%d-%d", off, off+n-1))
	req.Header.Set("Accept-Encoding", "identity")
	if known.Strong {
		req.Header.Set("If-Range", known.Tag)
	}
	e := &exchange{object: h, urls: []*url.URL{h.url}}
	client := *h.client
	client.CheckRedirect = e.checkRedirect
	resp, err := client.Do(req)
	if err != nil {
		return Answer{}, e.unsent(err, resp != nil)
	}
	h.remember(cmp.Or(e.redirect, resp))
	v, err := (*reply)(resp).judge(off, n, known)
	if err != nil {
		resp.Body.Close()
		return Answer{}, err
	}
	return Answer{v, &body{resp.Body, e}}, nil
}

// remember stores the commit that the Hub names.
func (h *httpObject) remember(first *http.Response) {
	commit := first.Header.Get("X-Repo-Commit")
	if h.commit != nil && isHubName(commit) {
		h.commit.CompareAndSwap(nil, &commit)
	}
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

// Errors of net/http for requests that it cannot send, because of Options.Header or a URL. There
// are no sentinels, and another attempt cannot help.
var unsendable = []string{"unsupported protocol scheme", "net/http: invalid header field"}

// unsent classifies the error of a request without a response. If refused is set, the client has a
// response but did not follow its redirect.
func (e *exchange) unsent(err error, refused bool) error {
	var sent *url.Error
	if errors.As(err, &sent) {
		err = sent.Err
	}
	clean := e.heard(err)
	switch {
	case refused || errors.As(err, new(*tls.CertificateVerificationError)) || errors.Is(err, http.ErrSchemeMismatch):
		return clean
	case slices.ContainsFunc(unsendable, func(text string) bool { return strings.HasPrefix(err.Error(), text) }):
		return fmt.Errorf("%w: %w", format.ErrOption, clean)
	}
	return &Temporary{Err: clean}
}

// reply is a response; its body is not read here.
type reply http.Response

// judge checks that the body has n bytes from off of the object, and returns the object's version.
// A server may send all of a small object; for a known version it means that the version has
// changed.
func (a *reply) judge(off, n int64, known Version) (v Version, err error) {
	isPart := a.StatusCode == http.StatusPartialContent
	if !isPart && a.StatusCode != http.StatusOK {
		return v, a.refusal(known)
	}
	if e := a.Header.Get("Content-Encoding"); e != "" && !strings.EqualFold(e, "identity") {
		return v, nonsense("the body is compressed, which was not asked for")
	}
	first := int64(0)
	last := a.ContentLength - 1
	total := a.ContentLength
	if isPart {
		if first, last, total, err = parseRange(a.Header.Get("Content-Range")); err != nil {
			return v, err
		}
	}
	v = a.version(total)
	if isPart && v.Tag == "" && known.Strong {
		if isStrongTag(known.Tag) {
			return v, nonsense("a range without the version of the others")
		}
		v.Tag = known.Tag // If-Range held, and then a server need not repeat the time
	}
	switch want := min(off+n, total) - 1; {
	case known.known() && (v.Tag != known.Tag || total >= 0 && total != known.Size):
		return v, ErrChanged
	case !isPart && (known.known() || total < 0 || total > n):
		return v, fmt.Errorf("%w: the server answers with the whole object, which is not smaller than Options.Window", ErrNoRanges)
	case first != off || last != want:
		return v, nonsense("bytes %d to %d of %d where %d to %d were asked for", first, last, total, off, want)
	case a.ContentLength >= 0 && a.ContentLength != last-first+1:
		return v, nonsense("a body of %d bytes for a range of %d", a.ContentLength, last-first+1)
	}
	return v, nil
}

// refusal returns the error for a status other than success.
func (a *reply) refusal(known Version) error {
	switch a.StatusCode {
	case http.StatusRequestedRangeNotSatisfiable:
		if known.known() {
			return ErrChanged
		}
		return nonsense("the object is empty, or the server refuses its first bytes")
	case http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests, http.StatusInternalServerError,
		http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return &Temporary{After: a.retryAfter(time.Now()), Err: &StatusError{a.StatusCode}}
	}
	return &StatusError{a.StatusCode}
}

// version returns the version in the header of an object of that size. It uses the best well-formed
// field, so that it is the same for each response. A Last-Modified must be older than a second,
// because another change in the same second would not show.
func (a *reply) version(size int64) Version {
	tag := a.Header.Get("ETag")
	changed := a.Header.Get("Last-Modified")
	when, err := http.ParseTime(changed)
	date, noDate := http.ParseTime(a.Header.Get("Date"))
	switch {
	case isStrongTag(tag):
		return Version{Size: size, Tag: tag, Strong: true}
	case err == nil:
		return Version{Size: size, Tag: changed, Strong: noDate == nil && date.Sub(when) >= time.Second}
	}
	return Version{Size: size, Tag: tag}
}

// isStrongTag reports whether a tag is a strong entity tag.
func isStrongTag(tag string) bool {
	return len(tag) >= 2 && tag[0] == '"' && strings.IndexByte(tag[1:], '"') == len(tag)-2
}

// parseRange parses a Content-Range field: bytes FIRST-LAST/TOTAL.
func parseRange(field string) (first, last, total int64, err error) {
	unit, rest, _ := strings.Cut(strings.TrimSpace(field), " ")
	span, size, _ := strings.Cut(rest, "/")
	from, to, _ := strings.Cut(span, "-")
	first, err1 := number(from)
	last, err2 := number(to)
	total, err3 := number(size)
	if cmp.Or(err1, err2, err3) != nil || !strings.EqualFold(unit, "bytes") || first > last || last >= total {
		return 0, 0, 0, nonsense("the Content-Range is not bytes FIRST-LAST/TOTAL")
	}
	return first, last, total, nil
}

// number parses decimal digits, without a sign.
func number(s string) (int64, error) {
	n, err := strconv.ParseUint(s, 10, 63)
	return int64(n), err
}

// retryAfter returns the wait that the server requests, in seconds or as a date.
func (a *reply) retryAfter(now time.Time) time.Duration {
	value := a.Header.Get("Retry-After")
	if s, err := number(value); err == nil {
		return time.Duration(min(s, int64(1<<62/time.Second))) * time.Second
	}
	at, _ := http.ParseTime(value) // long ago if it is no date
	return max(0, at.Sub(now))
}
