package remote

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log"
	"log/slog"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/expect"
)

// mark is in each credential of these tests.
const mark = "SECRET"

// credentials are fields that only the origin may get.
func credentials() http.Header {
	return http.Header{
		"Authorization": {"Bearer SECRET-1"}, "X-Api-Key": {"SECRET-2"}, "Cookie": {"c=SECRET-3"}, "private-token": {"SECRET-4"},
		"Referer": {"https://app.test/?SECRET-5"}, "X-Amz-Security-Token": {"a", "SECRET-6"},
	}
}

// recorder is a transport that records every request. Hosts and TLS exist in its table only.
type recorder struct {
	mu       sync.Mutex
	requests []*http.Request
	answer   func(n int, r *http.Request) (*http.Response, error)
}

// RoundTrip implements http.RoundTripper.
func (c *recorder) RoundTrip(r *http.Request) (*http.Response, error) {
	c.mu.Lock()
	n := len(c.requests)
	c.requests = append(c.requests, r.Clone(context.Background()))
	c.mu.Unlock()
	return c.answer(n, r)
}

// hops answers the first requests with redirects to these addresses and the others with data.
func hops(data string, locations ...string) *recorder {
	return &recorder{answer: func(n int, r *http.Request) (*http.Response, error) {
		if n < len(locations) {
			return respond(http.StatusFound, "", "Location", locations[n]), nil
		}
		return right(data, r), nil
	}}
}

// respond returns a response with these fields, given as names and values.
func respond(code int, body string, fields ...string) *http.Response {
	header := http.Header{}
	for i := 0; i < len(fields); i += 2 {
		header.Set(fields[i], fields[i+1])
	}
	return &http.Response{
		Status: http.StatusText(code), StatusCode: code, Header: header, ContentLength: int64(len(body)), Body: io.NopCloser(strings.NewReader(body)),
	}
}

// right is the response of a server of data.
func right(data string, r *http.Request) *http.Response {
	w := httptest.NewRecorder()
	w.Header().Set("ETag", `"1"`)
	http.ServeContent(w, r, "", time.Time{}, strings.NewReader(data))
	return w.Result()
}

// shown returns all that a request shows to the server that it is for.
func shown(r *http.Request) string {
	text := fmt.Sprint(r.URL, r.Host, r.Header)
	name, password, ok := r.BasicAuth()
	if ok {
		text += name + password
	}
	return text
}

// logged returns what is logged until the test ends.
func logged(t *testing.T) *bytes.Buffer {
	var out bytes.Buffer
	log.SetOutput(&out)
	before := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug})))
	t.Cleanup(func() {
		slog.SetDefault(before)
		log.SetOutput(os.Stderr)
	})
	return &out
}

// printed returns what a program can print of an error: each error of its tree in each way.
func printed(err error) string {
	if err == nil {
		return ""
	}
	text := fmt.Sprintf("%v\n%+v\n%#v\n%q\n", err, err, err, err)
	switch e := err.(type) {
	case interface{ Unwrap() error }:
		text += printed(e.Unwrap())
	case interface{ Unwrap() []error }:
		for _, inner := range e.Unwrap() {
			text += printed(inner)
		}
	}
	var sent *url.Error
	if errors.As(err, &sent) {
		text += sent.Error()
	}
	return text
}

// TestRedirects follows redirects. Credentials go to requests that start at their origin and have not left it: +
// stands for a request with all of them, - for one with none.
func TestRedirects(t *testing.T) {
	for _, tt := range []struct {
		name, start string
		locations   []string
		want        string
		err         error
	}{
		{"none", "http://a.test/m", nil, "+", nil},
		{"a path", "http://a.test/m", []string{"/n"}, "++", nil},
		{"the same origin", "http://a.test/m", []string{"http://a.test/n"}, "++", nil},
		{"the same origin without its scheme", "https://a.test/m", []string{"//a.test/n"}, "++", nil},
		{"port 80, explicit", "http://a.test/m", []string{"http://a.test:80/n"}, "++", nil},
		{"port 80, implicit", "http://a.test:80/m", []string{"http://a.test/n"}, "++", nil},
		{"port 443, explicit", "https://a.test/m", []string{"https://a.test:443/n"}, "++", nil},
		{"an empty port", "https://a.test/m", []string{"https://a.test:/n"}, "++", nil},
		{"capital letters", "http://a.test/m", []string{"HTTP://A.Test/n"}, "++", nil},
		{"IPv6 with its port", "http://[::1]/m", []string{"http://[::1]:80/n"}, "++", nil},
		{"IPv6 in another spelling", "http://[::1]/m", []string{"http://[0:0:0:0:0:0:0:1]/n"}, "++", nil},
		{"a chain", "http://a.test/m", []string{"/n", "n/o", "http://a.test/p"}, "++++", nil},

		{"another host", "http://a.test/m", []string{"http://b.test/n"}, "+-", nil},
		{"another host without its scheme", "https://a.test/m", []string{"//b.test/n"}, "+-", nil},
		{"a host behind a user", "http://a.test/m", []string{"http://a.test@b.test/n"}, "+-", nil},
		{"a subdomain", "http://a.test/m", []string{"http://s.a.test/n"}, "+-", nil},
		{"the domain above", "http://s.a.test/m", []string{"http://a.test/n"}, "+-", nil},
		{"a trailing dot", "http://a.test/m", []string{"http://a.test./n"}, "+-", nil},
		{"a letter that folds to another", "http://k.test/m", []string{"http://\u212a.test/n"}, "+-", nil},
		{"another port", "http://a.test/m", []string{"http://a.test:8080/n"}, "+-", nil},
		{"port 443 of http", "http://a.test/m", []string{"http://a.test:443/n"}, "+-", nil},
		{"http to https", "http://a.test/m", []string{"https://a.test/n"}, "+-", nil},
		{"http to https at one port", "http://a.test:80/m", []string{"https://a.test:80/n"}, "+-", nil},
		{"another IPv6", "http://[::1]/m", []string{"http://[::2]/n"}, "+-", nil},
		{"IPv6, another port", "http://[::1]/m", []string{"http://[::1]:8080/n"}, "+-", nil},
		{"IPv6, another zone", "http://[fe80::1%25a]/m", []string{"http://[fe80::1%25b]/n"}, "+-", nil},
		{"IPv4 in IPv6", "http://127.0.0.1/m", []string{"http://[::ffff:127.0.0.1]/n"}, "+-", nil},
		{"back again", "http://a.test/m", []string{"http://b.test/n", "http://a.test/o"}, "+--", nil},
		{"back again, and on", "http://a.test/m", []string{"http://b.test/n", "http://a.test/o", "/p", "http://a.test/q"}, "+----", nil},
		{"back again to the same address", "http://a.test/m", []string{"http://b.test/n", "http://a.test/m"}, "+--", nil},
		{"late", "http://a.test/m", []string{"/n", "/o", "http://b.test/p"}, "+++-", nil},
		{"several hosts", "https://a.test/m", []string{"https://b.test/n", "https://c.test/o?HOP-SECRET", "https://d.test/p"}, "+---", nil},

		{"https to http", "https://a.test/m", []string{"http://a.test/n"}, "+", ErrAnswer},
		{"https to http at one port", "https://a.test/m", []string{"http://a.test:443/n"}, "+", ErrAnswer},
		{"https to http of another host", "https://a.test/m", []string{"http://b.test/n"}, "+", ErrAnswer},
		{"https to http, later", "https://a.test/m", []string{"https://b.test/n", "http://b.test/o"}, "+-", ErrAnswer},
		{"http to https and back", "http://a.test/m", []string{"https://a.test/n", "http://a.test/o"}, "+-", ErrAnswer},
		{"a file", "http://a.test/m", []string{"file:///etc/passwd"}, "+", ErrAnswer},
		{"a file of the host", "http://a.test/m", []string{"file://a.test/etc/passwd"}, "+", ErrAnswer},
		{"a bucket", "https://a.test/m", []string{"s3://bucket/SECRET"}, "+", ErrAnswer},
		{"data", "https://a.test/m", []string{"data:,SECRET"}, "+", ErrAnswer},
		{"a scheme alone", "https://a.test/m", []string{"ftp:x"}, "+", ErrAnswer},
		{"a circle", "http://a.test/m", []string{"/m", "/m", "/m", "/m", "/m", "/m", "/m", "/m", "/m", "/m", "/m"}, "++++++++++", errCircle},
	} {
		t.Run(tt.name, func(t *testing.T) {
			out := logged(t)
			c := hops("0123456789", tt.locations...)
			o := quick()
			o.Client, o.Header = &http.Client{Transport: c}, credentials()
			start := strings.Replace(tt.start, "://", "://user-SECRET:pw-SECRET@", 1)
			r, err := NewReaderAt(t.Context(), start+"?sig=SECRET-8", o)
			if (tt.err == nil) != (err == nil) || tt.err != errCircle && !errors.Is(err, tt.err) {
				t.Fatalf("%v, want %v", err, tt.err)
			}
			if err == nil {
				defer r.Cancel()
			}
			expect.Equal(t, tt.want, marks(t, c))
			text := printed(err) + out.String() + fmt.Sprintf("%v %+v %#v", r, r, r)
			if strings.Contains(text, mark) {
				t.Errorf("a secret is printed: %s", text)
			}
		})
	}
}

// errCircle stands for the error of net/http after ten redirects, which has no name.
var errCircle = errors.New("stopped after 10 redirects")

// marks returns + for each request with all credentials, - for one with none, and ? for any other.
func marks(t *testing.T, c *recorder) (got string) {
	t.Helper()
	for _, r := range c.requests {
		var all, some bool
		all = true
		for name, values := range credentials() {
			sent := r.Header.Values(name)
			if name == "Referer" { // of the caller's for the first request, later of the page before, which net/http sets
				continue
			}
			all = all && cmp.Equal(values, sent)
		}
		some = strings.Contains(strings.ReplaceAll(shown(r), "HOP-SECRET", ""), mark)
		switch {
		case all:
			got += "+"
		case !some:
			got += "-"
		default:
			got += "?"
			t.Errorf("%s %v", r.URL, r.Header)
		}
		if r.Header.Get("Range") == "" || r.Header.Get("Accept-Encoding") != "identity" {
			t.Errorf("%s lacks the fields of a range: %v", r.URL, r.Header)
		}
	}
	return got
}

// TestUserOfURL: the user of an address goes to its origin only, as the field Authorization.
func TestUserOfURL(t *testing.T) {
	for location, want := range map[string]string{"/n": "SECRET", "http://b.test/n": "", "//b.test/n": ""} {
		c := hops("0123456789", location)
		o := quick()
		o.Client = &http.Client{Transport: c}
		r, err := NewReaderAt(t.Context(), "http://me:SECRET@a.test/m", o)
		expect.OK(t, err)
		r.Cancel()
		_, password, _ := c.requests[1].BasicAuth()
		expect.Equal(t, want, password)
	}
}

// TestRetryStartsAnew: an attempt after a failed one starts at the origin, with credentials.
func TestRetryStartsAnew(t *testing.T) {
	data := string(pattern(100))
	c := &recorder{}
	c.answer = func(n int, r *http.Request) (*http.Response, error) {
		switch {
		case r.URL.Host == "a.test":
			return respond(http.StatusFound, "", "Location", "http://b.test/n"), nil
		case n == 3:
			return respond(http.StatusServiceUnavailable, ""), nil
		}
		return right(data, r), nil
	}
	o := quick()
	o.Client, o.Header, o.Window = &http.Client{Transport: c}, credentials(), 10
	r, err := NewReaderAt(t.Context(), "http://a.test/m", o)
	expect.OK(t, err)
	defer r.Cancel()
	p := make([]byte, 100)
	_, err = r.ReadAt(p, 0)
	expect.OK(t, err)
	expect.Equal(t, data, string(p))
	expect.Equal(t, "+-+-+-", marks(t, c))
}

// TestCallersClient: the client's CheckRedirect is asked about each redirect, whatever it copies, and its Jar gets
// and gives cookies.
func TestCallersClient(t *testing.T) {
	c := hops("0123456789", "/n", "http://b.test/o", "http://a.test/p")
	redirects := c.answer
	c.answer = func(n int, r *http.Request) (*http.Response, error) {
		resp, err := redirects(n, r)
		resp.Header.Add("Set-Cookie", fmt.Sprintf("set=by-%s", r.URL.Host))
		return resp, err
	}
	jar, err := cookiejar.New(nil)
	expect.OK(t, err)
	jar.SetCookies(&url.URL{Scheme: "http", Host: "a.test"}, []*http.Cookie{{Name: "jar", Value: "a"}})
	jar.SetCookies(&url.URL{Scheme: "http", Host: "b.test"}, []*http.Cookie{{Name: "jar", Value: "b"}})
	var asked []string
	client := &http.Client{Transport: c, Jar: jar, CheckRedirect: func(req *http.Request, via []*http.Request) error {
		asked = append(asked, req.URL.String())
		req.Header = via[0].Header.Clone() // what many programs do, to keep their token
		req.Header.Set("X-Hop", req.URL.Path)
		return nil
	}}
	o := quick()
	o.Client, o.Header = client, credentials()
	r, err := NewReaderAt(t.Context(), "http://a.test/m", o)
	expect.OK(t, err)
	r.Cancel()
	expect.Equal(t, "++--", tokens(c))
	expect.Equal(t, []string{"http://a.test/n", "http://b.test/o", "http://a.test/p"}, asked)
	var cookies, added []string
	for _, r := range c.requests {
		cookies = append(cookies, r.Header.Get("Cookie"))
		added = append(added, r.Header.Get("X-Hop"))
	}
	expect.Equal(t, []string{"", "/n", "/o", "/p"}, added)
	want := []string{"c=SECRET-3; jar=a", "c=SECRET-3; jar=a; jar=a; set=by-a.test", "jar=b", "jar=a; set=by-a.test"}
	expect.Equal(t, want, cookies)

	refused := errors.New("not there")
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return refused }
	_, err = NewReaderAt(t.Context(), "http://a.test/m", &Options{Client: &http.Client{Transport: hops("", "/n"), CheckRedirect: client.CheckRedirect}})
	if !errors.Is(err, refused) {
		t.Errorf("%v, want the error of CheckRedirect", err)
	}
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	_, err = NewReaderAt(t.Context(), "http://a.test/m", &Options{Client: &http.Client{Transport: hops("", "/n"), CheckRedirect: client.CheckRedirect}})
	var status *StatusError
	if !errors.As(err, &status) || status.Code != http.StatusFound {
		t.Errorf("%v, want the response that redirects", err)
	}
}

// tokens returns + for each request that has the token.
func tokens(c *recorder) (got string) {
	for _, r := range c.requests {
		if r.Header.Get("Authorization") != "" && r.Header.Get("Private-Token") != "" {
			got += "+"
		} else {
			got += "-"
		}
	}
	return got
}

// TestShardsOfOneOrigin: the shards of a model are requested from the origin of their index, with credentials, and
// those that a redirect leads away from it without.
func TestShardsOfOneOrigin(t *testing.T) {
	files := threeShards()
	c := &recorder{}
	c.answer = func(_ int, r *http.Request) (*http.Response, error) {
		if r.URL.Host == "a.test" {
			return respond(http.StatusFound, "", "Location", "http://b.test"+r.URL.EscapedPath()), nil
		}
		return right(files[r.URL.Path], r), nil
	}
	o := quick()
	o.Client, o.Header = &http.Client{Transport: c}, credentials()
	m, err := Open(t.Context(), "http://a.test/m/model.safetensors.index.json?sig=SECRET-8", o)
	expect.OK(t, err)
	defer m.Close()
	for name, v := range m.Tensors() {
		_, err := v.Bytes()
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if n := len(c.requests); n != 14 { // the index, and two ranges of three shards, all redirected
		t.Errorf("%d requests", n)
	}
	for _, r := range c.requests {
		isOrigin := r.URL.Host == "a.test"
		if strings.Contains(shown(r), mark) != isOrigin || (r.URL.RawQuery == "sig=SECRET-8") != isOrigin {
			t.Errorf("%s %v", r.URL, r.Header)
		}
	}
}

// echo returns what a request told its server.
func echo(r *http.Request) string {
	return strings.Map(func(c rune) rune {
		if c < ' ' || c == '"' {
			return '.'
		}
		return c
	}, fmt.Sprintf("%s %s %s %v", r.URL.RawQuery, r.Header.Get("Authorization"), r.Header.Get("X-Api-Key"), r.URL))
}

// failing are servers, and transports of a caller's, that fail with the secrets of a request in their words.
var failing = map[string]func(r *http.Request) (*http.Response, error){
	"401": challenge(401), "403": challenge(403), "404": challenge(404), "407": challenge(407), "418": challenge(418), "429": challenge(429), "500": challenge(500), "999": challenge(999),
	"a transport that prints the request": func(r *http.Request) (*http.Response, error) {
		return nil, fmt.Errorf("GET %s with %v: broken", r.URL, r.Header)
	},
	"a transport that prints a part of it": func(r *http.Request) (*http.Response, error) {
		return nil, fmt.Errorf("refused: %s", strings.ToLower(echo(r)))
	},
	"a client within the transport": func(r *http.Request) (*http.Response, error) {
		return nil, fmt.Errorf("token: %w", &url.Error{Op: "Get", URL: r.URL.String(), Err: io.ErrClosedPipe})
	},
	"a connection": func(r *http.Request) (*http.Response, error) {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: &net.DNSError{Err: "no such host", Name: "x." + r.URL.RawQuery + ".test"}}
	},
	"Content-Range": func(r *http.Request) (*http.Response, error) {
		return respond(http.StatusPartialContent, "x", "ETag", `"1"`, "Content-Range", "bytes "+echo(r)), nil
	},
	"Content-Encoding": func(r *http.Request) (*http.Response, error) {
		return respond(http.StatusOK, "x", "ETag", `"1"`, "Content-Encoding", echo(r)), nil
	},
	"no version": func(r *http.Request) (*http.Response, error) {
		return respond(http.StatusOK, "x", "ETag", echo(r), "Last-Modified", echo(r)), nil
	},
	"Retry-After": func(r *http.Request) (*http.Response, error) {
		return respond(http.StatusServiceUnavailable, echo(r), "Retry-After", echo(r)), nil
	},
	"a redirect to a name": func(r *http.Request) (*http.Response, error) {
		return respond(http.StatusFound, "", "Location", "http://"+base64.RawURLEncoding.EncodeToString([]byte(echo(r)))+".bad.test/?"+url.QueryEscape(echo(r))), nil
	},
	"a redirect to a scheme": func(r *http.Request) (*http.Response, error) {
		return respond(http.StatusFound, "", "Location", "x-secret-"+mark+"://"+url.PathEscape(echo(r))), nil
	},
	"a redirect that cannot be parsed": func(r *http.Request) (*http.Response, error) {
		return respond(http.StatusFound, "", "Location", "http://[::1/"+url.QueryEscape(echo(r))), nil
	},
	"a body": func(r *http.Request) (*http.Response, error) {
		resp := respond(http.StatusPartialContent, "", "ETag", `"1"`, "Content-Range", "bytes 0-9/10")
		resp.ContentLength, resp.Body = 10, io.NopCloser(io.MultiReader(strings.NewReader("01234"), broken{errors.New("trailer: " + echo(r))}))
		return resp, nil
	},
}

// challenge returns a refusal that echoes the request.
func challenge(code int) func(r *http.Request) (*http.Response, error) {
	return func(r *http.Request) (*http.Response, error) {
		resp := respond(code, echo(r), "WWW-Authenticate", echo(r), "X-Error-Message", echo(r))
		resp.Status = fmt.Sprintf("%d %s", code, echo(r))
		return resp, nil
	}
}

// broken is a reader that fails.
type broken struct{ err error }

func (b broken) Read([]byte) (int, error) { return 0, b.err }

// TestNoSecretIsPrinted: whatever a server or a transport says, no error and no log has a credential, at the
// origin and behind redirects.
func TestNoSecretIsPrinted(t *testing.T) {
	for name, fail := range failing {
		for _, locations := range [][]string{nil, {"/n?sig=SECRET-8"}, {"http://b.test/n?sig=HOP-SECRET"}, {"http://you:HOP-SECRET@b.test/n?a=1;b=HOP-SECRET", "/o"}} {
			t.Run(fmt.Sprint(name, locations), func(t *testing.T) {
				out := logged(t)
				c := hops("", locations...)
				redirects := c.answer
				c.answer = func(n int, r *http.Request) (*http.Response, error) {
					switch {
					case n < len(locations):
						return redirects(n, r)
					case strings.HasSuffix(r.URL.Host, "bad.test"):
						return nil, &net.OpError{Op: "dial", Net: "tcp", Err: &net.DNSError{Err: "no such host", Name: r.URL.Host}}
					}
					return fail(r)
				}
				o := quick()
				o.Client, o.Header, o.Retries = &http.Client{Transport: c}, credentials(), -1
				_, err := Open(t.Context(), "http://user-SECRET:pw-SECRET@a.test/m?sig=SECRET-8&token=SECRET-9", o)
				if err == nil {
					t.Fatal("it opened")
				}
				text := printed(err) + out.String()
				if strings.Contains(strings.ToUpper(text), mark) {
					t.Errorf("a secret is printed: %s", text)
				}
			})
		}
	}
}

// TestWhatIsPrinted: an error without credentials says what happened, and has its kind.
func TestWhatIsPrinted(t *testing.T) {
	c := &recorder{answer: func(int, *http.Request) (*http.Response, error) {
		return nil, fmt.Errorf("stopped: %w", fs.ErrPermission)
	}}
	_, err := NewReaderAt(t.Context(), "http://a.test/m?sig=SECRET-8", &Options{Client: &http.Client{Transport: c}, Header: credentials(), Retries: -1})
	if !errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), "http://a.test/m: unavailable after 1 attempts: stopped: permission denied") {
		t.Errorf("%v", err)
	}
}

// TestHubSettings: what is wrong with the environment or an address is an error without their words, and no request.
func TestHubSettings(t *testing.T) {
	for _, tt := range []struct{ name, endpoint, token, address string }{
		{"a line feed in the endpoint", "http://a.test\n/x?token=SECRET", "", "hf://org/name"},
		{"a user", "http://user:SECRET@a.test", "", "hf://org/name"},
		{"a query", "http://a.test/?SECRET", "", "hf://org/name"},
		{"an empty query", "http://a.test/SECRET?", "", "hf://org/name"},
		{"a fragment", "http://a.test/#SECRET", "", "hf://org/name"},
		{"a backslash", `http://a.test\SECRET`, "", "hf://org/name"},
		{"no scheme", "a.test/SECRET", "", "hf://org/name"},
		{"another scheme", "file:///SECRET", "", "hf://org/name"},
		{"no host", "http:///SECRET", "", "hf://org/name"},
		{"a port that is none", "http://a.test:SECRET", "", "hf://org/name"},
		{"a line feed in the token", "http://a.test", "bad\ntoken-SECRET", "hf://org/name"},
		{"a line feed behind the token", "http://a.test", "SECRET\n", "hf://org/name"},
		{"a space in the token", "http://a.test", "SECRET two", "hf://org/name"},
		{"a token that is not ASCII", "http://a.test", "SECRÉT-SECRET", "hf://org/name"},
		{"a user in the address", "http://a.test", "x", "hf://user:SECRET@org/name"},
		{"a query of the revision", "http://a.test", "x", "hf://org/name@main?SECRET=1/f"},
		{"a query of the file", "http://a.test", "x", "hf://org/name/f?token=SECRET"},
		{"a query of the repository", "http://a.test", "x", "hf://org/name?token=SECRET"},
		{"a fragment of the file", "http://a.test", "x", "hf://org/name/f#SECRET"},
		{"dots in the file", "http://a.test", "x", "hf://org/name/../../SECRET/f"},
		{"dots in the revision", "http://a.test", "x", "hf://org/name@../../SECRET/y"},
		{"encoded slashes and dots in the revision", "http://a.test", "x", "hf://org/name@x%2F..%2F..%2FSECRET/f"},
		{"encoded dots as the revision", "http://a.test", "x", "hf://org/name@%2e%2e/SECRET"},
		{"an encoded query", "http://a.test", "x", "hf://org/name@x%3FSECRET/f"},
		{"an encoded fragment", "http://a.test", "x", "hf://org/name@x%23SECRET/f"},
		{"an encoded backslash", "http://a.test", "x", "hf://org/name@..%5CSECRET/f"},
		{"dots as the name", "http://a.test", "x", "hf://org/..SECRET"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			out := logged(t)
			t.Setenv("HF_ENDPOINT", tt.endpoint)
			t.Setenv("HF_TOKEN", tt.token)
			c := hops("")
			_, err := Open(t.Context(), tt.address, &Options{Client: &http.Client{Transport: c}, Retries: -1})
			if !errors.Is(err, format.ErrOption) || len(c.requests) > 0 {
				t.Errorf("%v after %d requests, want ErrOption and none", err, len(c.requests))
			}
			if text := printed(err) + out.String(); strings.Contains(text, mark) {
				t.Errorf("a secret is printed: %s", text)
			}
		})
	}
}

// TestHubPaths: each address requests one path, below its repository.
func TestHubPaths(t *testing.T) {
	t.Setenv("HF_ENDPOINT", "http://a.test/mirror/")
	t.Setenv("HF_TOKEN", "hf_SECRET")
	for address, want := range map[string]string{
		"hf://org/name@refs%2Fpr%2F1/f": "/mirror/org/name/resolve/refs%2Fpr%2F1/f",
		"hf://org/name/x%2F..%2F..%2Fy": "/mirror/org/name/resolve/main/x%252F..%252F..%252Fy",
		"hf://org/name/%2e%2e/y":        "/mirror/org/name/resolve/main/%252e%252e/y",
		"hf://org/name@%252e%252e/y":    "/mirror/org/name/resolve/%252e%252e/y",
		"hf://org/name/a b;c&d=e+f":     "/mirror/org/name/resolve/main/a%20b;c&d=e+f",
	} {
		c := hops("0123456789")
		r, err := NewReaderAt(t.Context(), address, &Options{Client: &http.Client{Transport: c}, Header: http.Header{"authorization": {"other"}}})
		expect.OK(t, err)
		r.Cancel()
		expect.Equal(t, []string{want}, []string{c.requests[0].URL.RequestURI()})
		expect.Equal(t, http.Header{
			"Authorization": {"Bearer hf_SECRET"}, "Range": {"bytes=0-262143"}, "Accept-Encoding": {"identity"},
		}, c.requests[0].Header)
	}
}

// TestHubOrigin: the token goes to the endpoint's origin only, also from a subdomain or another port of it, and not
// if a redirect comes back.
func TestHubOrigin(t *testing.T) {
	t.Setenv("HF_ENDPOINT", "https://hub.test")
	t.Setenv("HF_TOKEN", "hf_SECRET")
	for location, want := range map[string]string{
		"/org/name/resolve/0123/model.onnx": "++", "https://hub.test:443/x": "++", "https://HUB.test/x": "++",
		"https://cdn.hub.test/x": "+-", "https://hub.test:8443/x": "+-", "https://hub.test./x": "+-", "https://other.test/x": "+-",
		"https://other.test/back": "+--",
	} {
		c := hops("0123456789", location)
		if strings.HasSuffix(location, "/back") {
			c = hops("0123456789", location, "https://hub.test/x")
		}
		o := quick()
		o.Client = &http.Client{Transport: c}
		r, err := NewReaderAt(t.Context(), "hf://org/name/model.onnx", o)
		expect.OK(t, err)
		r.Cancel()
		got := ""
		for _, r := range c.requests {
			if strings.Contains(shown(r), mark) {
				got += "+"
			} else {
				got += "-"
			}
		}
		if got != want {
			t.Errorf("%s: %s, want %s", location, got, want)
		}
	}
}

// TestLeak is the program cases/attack/leak.go.txt: with real servers, nothing secret arrives at another one or is printed.
func TestLeak(t *testing.T) {
	out := logged(t)
	model := written(t, "safetensors", 1, 16)
	var mu sync.Mutex
	var got []string
	serve := func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		got = append(got, shown(r))
		w.Header().Set("ETag", `"1"`)
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(model))
	}
	other := httptest.NewServer(http.HandlerFunc(serve))
	defer other.Close()
	otherTLS := httptest.NewTLSServer(http.HandlerFunc(serve))
	defer otherTLS.Close()
	port := func(s *httptest.Server) string {
		return s.Listener.Addr().(*net.TCPAddr).AddrPort().String()[len("127.0.0.1"):]
	}
	header := http.Header{"Authorization": {"Bearer SECRET"}, "X-Api-Key": {"SECRET2"}, "Cookie": {"c=SECRET3"}, "Private-Token": {"SECRET4"}}
	for _, tt := range []struct {
		name, target string
		tls          bool
		requests     int
		err          error
	}{
		{"another name", "http://localhost" + port(other) + "/x", false, 1, nil},
		{"another port", "http://127.0.0.1" + port(other) + "/x", false, 1, nil},
		{"https to http", "http://127.0.0.1" + port(other) + "/x", true, 0, ErrAnswer},
		{"https, another port", "https://127.0.0.1" + port(otherTLS) + "/x", true, 1, nil},
		{"a file", "file:///etc/passwd", false, 0, ErrAnswer},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got = nil
			redirect := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, tt.target, http.StatusFound) })
			first := httptest.NewUnstartedServer(redirect)
			pool := x509.NewCertPool()
			pool.AddCert(otherTLS.Certificate())
			if tt.tls {
				first.StartTLS()
				pool.AddCert(first.Certificate())
			} else {
				first.Start()
			}
			defer first.Close()
			transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}
			defer transport.CloseIdleConnections()
			o := quick()
			o.Client, o.Header = &http.Client{Transport: transport}, header
			m, err := Open(t.Context(), first.URL+"/m.safetensors?sig=QUERYSECRET", o)
			if !errors.Is(err, tt.err) {
				t.Fatalf("%v, want %v", err, tt.err)
			}
			if err == nil {
				expect.OK(t, m.Close())
			}
			text := strings.Join(got, "\n") + printed(err) + out.String()
			if len(got) != tt.requests || strings.Contains(text, mark) {
				t.Errorf("%d requests: %s", len(got), text)
			}
		})
	}
}
