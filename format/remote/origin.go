package remote

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// origin is who may get the credentials of a request. Hosts that are the same machine under another
// name, such as "host." or another address, are other origins.
type origin struct{ scheme, host, port string }

func originOf(u *url.URL) origin {
	o := origin{lower(u.Scheme), lower(u.Hostname()), u.Port()}
	addr, err := netip.ParseAddr(o.host)
	if err == nil {
		o.host = addr.String() // IPv6 has several spellings
	}
	switch {
	case o.port == "" && o.scheme == "http":
		o.port = "80"
	case o.port == "" && o.scheme == "https":
		o.port = "443"
	}
	return o
}

// lower is strings.ToLower for ASCII only: other letters that it makes equal may be other hosts.
func lower(s string) string {
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			return r - 'A' + 'a'
		}
		return r
	}, s)
}

// exchange is a GET and the redirects that follow it. Each attempt has its own.
type exchange struct {
	object   *httpObject
	redirect *http.Response // the first, nil without one
	urls     []*url.URL     // of all requests
	left     bool           // a redirect led to another origin: from there on, no request has credentials
}

// checkRedirect implements http.Client.CheckRedirect. The caller's own is asked first, so that
// nothing it adds to a request undoes the rule.
func (e *exchange) checkRedirect(req *http.Request, via []*http.Request) error {
	if e.redirect == nil {
		e.redirect = req.Response
	}
	e.urls = append(e.urls, req.URL)
	if !e.left && originOf(req.URL) == originOf(e.object.url) {
		e.object.restore(req.Header)
	}
	err := e.ask(req, via)
	if err != nil {
		return err
	}
	from := originOf(via[len(via)-1].URL)
	to := originOf(req.URL)
	if to.scheme != "http" && to.scheme != "https" {
		return nonsense("a redirect to what is neither http nor https")
	}
	if from.scheme == "https" && to.scheme == "http" {
		return nonsense("a redirect from https to http")
	}
	if to != originOf(e.object.url) {
		e.left = true
	}
	if e.left {
		e.object.withhold(req.Header)
	}
	return nil
}

// ask is what the caller's client would do.
func (e *exchange) ask(req *http.Request, via []*http.Request) error {
	if check := e.object.client.CheckRedirect; check != nil {
		return check(req, via)
	}
	if len(via) >= 10 {
		return errors.New("stopped after 10 redirects")
	}
	return nil
}

// restore adds the caller's fields that net/http leaves out where the name of a host is spelled in
// another way.
func (h *httpObject) restore(header http.Header) {
	for name, values := range h.header {
		if header[name] == nil {
			header[name] = slices.Clone(values)
		}
	}
}

// withhold removes what only the object's origin may get: the caller's fields, cookies, and the
// address of the page before, which has its query. The client's Jar adds its cookies later.
func (h *httpObject) withhold(header http.Header) {
	for name := range header {
		key := http.CanonicalHeaderKey(name)
		_, isOurs := h.header[key]
		if isOurs || key == "Cookie" || key == "Referer" {
			delete(header, name)
		}
	}
}

// said is an error of net/http with a text that is safe to print.
type said struct {
	text string
	err  error
}

func (s *said) Error() string { return s.text }

// Is hides io.EOF, which the model's reader would take for the end of the object. There is no
// Unwrap, because errors of net/http have addresses with their queries.
func (s *said) Is(target error) bool {
	return target != io.EOF && target != io.ErrUnexpectedEOF && errors.Is(s.err, target)
}

// As finds all types but *url.Error, which has an address.
func (s *said) As(target any) bool {
	_, isAddress := target.(**url.Error)
	return !isAddress && errors.As(s.err, target)
}

// heard removes what the server sent from an error of net/http, which may quote a URL with
// credentials. It limits the text and replaces unprintable characters: hosts and names in
// certificates come from the server.
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

// heard is the function heard for errors of this exchange. The text is withheld if it has a part of
// what may be credentials, which a server can echo in the name of a host, and a transport of the
// caller's in its errors.
func (e *exchange) heard(err error) error {
	text := lower(err.Error())
	for _, secret := range e.secrets() {
		if strings.Contains(text, lower(secret)) {
			return &said{"the request failed, with an error that has a part of the address or header and is not shown", err}
		}
	}
	return heard(err)
}

// leastSecret is the length of the shortest text that is treated as a secret.
const leastSecret = 4

// secrets returns what may be credentials in the requests: users, queries, values of header fields
// and the words in them.
func (e *exchange) secrets() (all []string) {
	add := func(values ...string) {
		for _, v := range values {
			if len(v) >= leastSecret {
				all = append(all, v)
			}
		}
	}
	for _, u := range e.urls {
		password, _ := u.User.Password()
		basic := base64.StdEncoding.EncodeToString([]byte(u.User.Username() + ":" + password)) // as net/http sends it
		add(u.User.Username(), password, strings.TrimRight(basic, "="), u.RawQuery)
		for pair := range strings.SplitSeq(u.RawQuery, "&") {
			_, value, _ := strings.Cut(pair, "=")
			add(value)
		}
		for _, values := range u.Query() {
			add(values...)
		}
	}
	for _, values := range e.object.header {
		for _, value := range values {
			add(value)
			add(strings.FieldsFunc(value, func(r rune) bool { return strings.ContainsRune(" ,;=", r) })...)
		}
	}
	return all
}

// body is the body of an answer, with errors that are safe to print.
type body struct {
	io.ReadCloser
	exchange *exchange
}

// Read implements io.Reader.
func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil && err != io.EOF {
		err = b.exchange.heard(err)
	}
	return n, err
}
