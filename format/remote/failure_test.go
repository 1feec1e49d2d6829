package remote

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/tensor"
)

// answering is a wrong answer to all requests from the second on.
func answering(f func(w http.ResponseWriter, r *http.Request)) func(http.ResponseWriter, *http.Request, int) bool {
	return func(w http.ResponseWriter, r *http.Request, n int) bool {
		if n == 0 {
			return false
		}
		f(w, r)
		return true
	}
}

// raw is an answer as on the wire, with line feeds for the ends of lines.
func raw(text string) func(http.ResponseWriter, *http.Request) {
	head, body, _ := strings.Cut(text, "\n\n")
	return func(w http.ResponseWriter, r *http.Request) {
		c, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			panic(err)
		}
		defer c.Close()
		_, _ = io.WriteString(c, "HTTP/1.1 "+strings.ReplaceAll(head, "\n", "\r\n")+"\r\n\r\n"+body)
	}
}

// sized is a 206 with a body of zeros and fields of the test's choice.
func sized(contentRange string, body int, fields ...string) func(http.ResponseWriter, *http.Request, int) bool {
	text := fmt.Sprintf("206 P\nContent-Range: %s\nContent-Length: %d\n", contentRange, body) + strings.Join(fields, "\n")
	if len(fields) == 0 {
		text += `ETag: "one"`
	}
	return answering(raw(text + "\n\n" + strings.Repeat("\x00", body)))
}

// TestWrongAnswers: a server that fails or lies after the first request makes the read an
// error. The read is for 100 bytes from 5000 of 10,000.
func TestWrongAnswers(t *testing.T) {
	data := pattern(10_000)
	for _, tt := range []struct {
		name     string
		wrong    func(http.ResponseWriter, *http.Request, int) bool
		want     error
		requests int64 // the first included; 0 where net/http repeats some by itself
	}{
		{"a range that begins before", sized("bytes 4999-5099/10000", 101), ErrAnswer, 2},
		{"a range that begins behind", sized("bytes 5001-5099/10000", 99), ErrAnswer, 2},
		{"a range that ends early", sized("bytes 5000-5098/10000", 99), ErrAnswer, 2},
		{"a range that ends late", sized("bytes 5000-5100/10000", 101), ErrAnswer, 2},
		{"another size", sized("bytes 5000-5099/10001", 100), ErrChanged, 2},
		{"no size", sized("bytes 5000-5099/*", 100), ErrAnswer, 2},
		{"no range", answering(raw("206 P\nETag: \"one\"\nContent-Length: 1\n\n0")), ErrAnswer, 2},
		{"a longer body", sized("bytes 5000-5099/10000", 101), ErrAnswer, 2},
		{"a shorter body", sized("bytes 5000-5099/10000", 99), ErrAnswer, 2},
		{"a shorter body of unknown length", answering(func(w http.ResponseWriter, r *http.Request) {
			var first, last int
			fmt.Sscanf(r.Header.Get("Range"), "bytes=%d-%d", &first, &last)
			w.Header().Set("ETag", `"one"`)
			w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/10000", first, last))
			w.WriteHeader(http.StatusPartialContent)
			_ = http.NewResponseController(w).Flush()
			w.Write(data[first:last]) // one byte is missing
		}), ErrUnavailable, 6},
		{"compressed", sized("bytes 5000-5099/10000", 100, `ETag: "one"`, "Content-Encoding: gzip"), ErrAnswer, 2},
		{"another version", sized("bytes 5000-5099/10000", 100, `ETag: "two"`), ErrChanged, 2},
		{"the whole object, of the same version", answering(raw("200 O\nETag: \"one\"\nContent-Length: 10000\n\n" + string(data))), ErrNoRanges, 2},
		{"the whole object, without a version", answering(raw("200 O\n\n" + string(data))), ErrChanged, 2},
		{"the whole of another object", answering(raw("200 O\nETag: \"one\"\nContent-Length: 9999\n\n" + string(data[1:]))), ErrChanged, 2},
		{"a range without version", sized("bytes 5000-5099/10000", 100, "X: none"), ErrAnswer, 2},
		{"a refusal for an object that was cut", answering(raw("416 R\nContent-Range: bytes */5000\nContent-Length: 0")), ErrChanged, 2},
		{"a refusal without reason", answering(raw("416 R\nContent-Length: 0")), ErrChanged, 2},
		{"an object that is gone", answering(http.NotFound), fs.ErrNotExist, 2},
		{"an object that may not be read any more", answering(raw("403 F\nContent-Length: 0")), fs.ErrPermission, 2},
		{"a server that is broken", answering(raw("500 I\nContent-Length: 0")), ErrUnavailable, 6},
		{"a server that wants to be left alone", answering(raw("429 T\nRetry-After: 3600\nContent-Length: 0")), ErrUnavailable, 2},
		{"connections that are cut", answering(func(w http.ResponseWriter, r *http.Request) { panic(http.ErrAbortHandler) }), ErrUnavailable, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := serve(t, data, tt.wrong)
			o := quick()
			o.Window = 1000
			r := reader(t, s, o)
			r.Parsed()
			p := make([]byte, 100)
			n, err := r.ReadAt(p, 5000)
			if !errors.Is(err, tt.want) || tt.want == nil && (n != 100 || !bytes.Equal(p, data[5000:5100])) {
				t.Errorf("ReadAt: %v, want %v", err, tt.want)
			}
			if err != nil && !strings.Contains(err.Error(), s.URL) {
				t.Errorf("%v: does not name the object", err)
			}
			if got := s.requests.Load(); tt.requests > 0 && got != tt.requests {
				t.Errorf("%d requests, want %d", got, tt.requests)
			}
			// What is there is there: no error takes it away.
			if _, err := r.ReadAt(p, 900); err != nil || !bytes.Equal(p, data[900:1000]) {
				t.Errorf("a read of what was fetched first: %v", err)
			}
		})
	}
}

// TestWrongOpening: what the first answer may be like, and what tells versions apart.
func TestWrongOpening(t *testing.T) {
	const second, date = "Sun, 06 Nov 1994 08:49:37 GMT", "\nDate: Sun, 06 Nov 1994 08:49:37 GMT"
	data := pattern(10_000)
	always := func(f func(w http.ResponseWriter, r *http.Request)) func(http.ResponseWriter, *http.Request, int) bool {
		return func(w http.ResponseWriter, r *http.Request, _ int) bool {
			f(w, r)
			return true
		}
	}
	status := func(code int) func(http.ResponseWriter, *http.Request, int) bool {
		return always(raw(fmt.Sprintf("%d S\nContent-Length: 0", code)))
	}
	part := func(size string, n int, field string) func(http.ResponseWriter, *http.Request, int) bool {
		return always(raw(fmt.Sprintf("206 P\n%s\nContent-Range: bytes 0-%d/%s\nContent-Length: %d\n\n%s", field, n-1, size, n, data[:n])))
	}
	plain := func(field string) func(http.ResponseWriter, *http.Request, int) bool {
		return part("10000", 1000, field)
	}
	for _, tt := range []struct {
		name  string
		wrong func(http.ResponseWriter, *http.Request, int) bool
		any   bool // AllowUnversioned
		want  error
	}{
		{"nothing wrong", nil, false, nil},
		{"missing", status(404), false, fs.ErrNotExist},
		{"forbidden", status(401), false, fs.ErrPermission},
		{"a redirect to nowhere", status(302), false, &StatusError{302}},
		{"not modified", status(304), false, &StatusError{304}},
		{"no content", status(204), false, &StatusError{204}},
		{"a method that it does not have", status(501), false, &StatusError{501}},
		{"overloaded", status(503), false, ErrUnavailable},
		{"no version", plain("X: none"), false, ErrUnversioned},
		{"no version, allowed", plain("X: none"), true, nil},
		{"a weak tag", plain(`ETag: W/"one"`), false, ErrUnversioned},
		{"a tag without quotes", plain("ETag: one"), false, ErrUnversioned},
		{"a tag of two", plain(`ETag: "one", "two"`), false, ErrUnversioned},
		{"a time without a date", plain("Last-Modified: " + second), false, ErrUnversioned},
		{"a time that is cut", plain("Last-Modified: " + second[:20] + date), false, ErrUnversioned},
		{"a time that is cut, and a weak tag", plain("Last-Modified: " + second[:20] + date + "\nETag: W/\"one\""), false, ErrUnversioned},
		{"a time that is now", plain("Last-Modified: " + second + date), false, ErrUnversioned},
		{"a time that is to come", plain("Last-Modified: Sun, 06 Nov 1994 08:49:38 GMT" + date), false, ErrUnversioned},
		{"a time a second ago", plain("Last-Modified: Sun, 06 Nov 1994 08:49:36 GMT" + date), false, nil},
		{"a tag of 2000 bytes", plain(`ETag: "` + strings.Repeat("a", 2000) + `"`), false, nil},
		{"a time and a weak tag", plain("Last-Modified: Sun, 06 Nov 1994 08:49:37 GMT\nDate: Sun, 06 Nov 1994 08:49:39 GMT\nETag: W/\"one\""), false, nil},
		{"no ranges", always(raw("200 O\n\n" + string(data))), true, ErrNoRanges},
		{"no ranges, with its length", always(raw("200 O\nContent-Length: 10000\n\n" + string(data))), true, ErrNoRanges},
		{"less than asked for", part("10000", 900, `ETag: "one"`), false, ErrAnswer},
		{"a size that is a lie", part("9223372036854775807", 1000, `ETag: "one"`), false, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := serve(t, data, tt.wrong)
			o := quick()
			o.Window, o.AllowUnversioned, o.Retries = 1000, tt.any, 1
			r, err := NewReaderAt(t.Context(), s.URL, o)
			var status *StatusError
			if want, ok := tt.want.(*StatusError); ok {
				if !errors.As(err, &status) || *status != *want {
					t.Errorf("%v, want %v", err, want)
				}
				return
			}
			if !errors.Is(err, tt.want) {
				t.Fatalf("%v, want %v", err, tt.want)
			}
			if err != nil {
				return
			}
			p := make([]byte, 1000)
			if _, err := r.ReadAt(p, 0); err != nil || !bytes.Equal(p, data[:1000]) {
				t.Error("other bytes: ", err)
			}
		})
	}
}

// TestSmallObjects: an object that is smaller than the window may come as a whole.
func TestSmallObjects(t *testing.T) {
	for _, size := range []int{0, 1, 999, 1000} {
		data := pattern(size)
		for name, wrong := range map[string]func(http.ResponseWriter, *http.Request, int) bool{
			"by range": nil,
			"as a whole": func(w http.ResponseWriter, r *http.Request, _ int) bool {
				w.Header().Set("ETag", `"one"`)
				w.Write(data)
				return true
			},
		} {
			t.Run(fmt.Sprint(size, " ", name), func(t *testing.T) {
				s := serve(t, data, wrong)
				o := quick()
				o.Window = 1000
				r := reader(t, s, o)
				p := make([]byte, size+1)
				n, err := r.ReadAt(p, 0)
				if r.Size() != int64(size) || n != size || err == nil || err.Error() != "EOF" || !bytes.Equal(p[:n], data) {
					t.Errorf("size %d, %d bytes, %v", r.Size(), n, err)
				}
				if got := s.requests.Load(); got != 1 {
					t.Errorf("%d requests", got)
				}
			})
		}
	}
}

// cutting ends the connection after so many bytes.
type cutting struct {
	http.ResponseWriter
	left int
}

func (c *cutting) Write(b []byte) (int, error) {
	n := min(len(b), c.left)
	c.ResponseWriter.Write(b[:n])
	if c.left -= n; c.left == 0 {
		_ = http.NewResponseController(c.ResponseWriter).Flush()
		panic(http.ErrAbortHandler)
	}
	return n, nil
}

func (c *cutting) Unwrap() http.ResponseWriter { return c.ResponseWriter }

// TestStalled: a server that says nothing, or nothing more, or too little, makes an
// attempt end.
func TestStalled(t *testing.T) {
	data := pattern(100_000)
	for _, sent := range []int{-1, 0, 1, 30_000} {
		t.Run(strconv.Itoa(sent), func(t *testing.T) {
			var s *server
			s = serve(t, data, func(w http.ResponseWriter, r *http.Request, n int) bool {
				if n != 1 {
					return false
				}
				if sent >= 0 {
					w.Header().Set("ETag", `"one"`)
					w.Header().Set("Content-Range", "bytes 10000-99999/100000")
					w.Header().Set("Content-Length", "90000")
					w.WriteHeader(http.StatusPartialContent)
					w.Write(data[10_000:][:sent])
					_ = http.NewResponseController(w).Flush()
				}
				s.hold(r)
				return true
			})
			o := quick()
			o.Window, o.Retries = 10_000, 100 // a busy machine stalls by itself
			r := reader(t, s, o)
			r.o.Stall = 50 * time.Millisecond
			p := make([]byte, len(data))
			if _, err := r.ReadAt(p, 0); err != nil || !bytes.Equal(p, data) {
				t.Fatal("other bytes: ", err)
			}
			if got := r.Stats(); got.Requests < 3 || got.Retries < 1 {
				t.Errorf("%+v, want a retry", got)
			}
		})
	}
}

// stuck is a server that never answers again after the first request, and a channel that says
// when somebody waits for it.
func stuck(t *testing.T, data []byte) (*server, <-chan struct{}) {
	waiting := make(chan struct{}, 100)
	var s *server
	s = serve(t, data, answering(func(w http.ResponseWriter, r *http.Request) {
		waiting <- struct{}{}
		s.hold(r)
	}))
	return s, waiting
}

// TestNeverAnswered: a server that never answers is an error in the end.
func TestNeverAnswered(t *testing.T) {
	s, _ := stuck(t, pattern(10_000))
	for name, o := range map[string]Options{
		"stalled": {Stall: 10 * time.Millisecond, Backoff: time.Microsecond, Retries: 2},
		"timeout": {Timeout: 10 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			s.requests.Store(0)
			r := reader(t, s, &Options{Window: 1000, Backoff: o.Backoff, Retries: o.Retries, Timeout: o.Timeout})
			if o.Stall > 0 {
				r.o.Stall = o.Stall // not while it is opened, which a busy machine may need longer for
			}
			_, err := r.ReadAt(make([]byte, 5000), 3000)
			if !errors.Is(err, ErrUnavailable) {
				t.Errorf("%v, want ErrUnavailable", err)
			}
		})
	}
}

// TestClose of a model ends its reads instead of waiting for them.
func TestClose(t *testing.T) {
	model := written(t, "mag", 3, 400)
	s, waiting := stuck(t, model)
	m, err := Open(t.Context(), s.URL, &Options{Window: len(model) / 2})
	expect.OK(t, err)
	done := make(chan error)
	go func() {
		_, err := m.At(2).Bytes()
		done <- err
	}()
	<-waiting
	expect.OK(t, m.Close())
	expect.Refused(t, tensor.ErrClosed, "a running read")(nil, <-done)
}

// TestSecrets: the query and the password of a URL are not in any error.
func TestSecrets(t *testing.T) {
	s := serve(t, pattern(10), func(w http.ResponseWriter, r *http.Request, n int) bool {
		http.Redirect(w, r, "http://127.0.0.1:1/other?token=HUSH", http.StatusFound)
		return true
	})
	address := strings.Replace(s.URL, "http://", "http://me:HUSH@", 1) + "/model?token=HUSH"
	for name, url := range map[string]string{"redirected": address, "refused": "http://me:HUSH@127.0.0.1:1/?token=HUSH", "no URL": "://HUSH", "no scheme": "me:HUSH@host/"} {
		_, err := NewReaderAt(t.Context(), url, &Options{Retries: -1})
		if err == nil || strings.Contains(err.Error(), "HUSH") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestServersWords: nothing that a server chooses is in an error as it is, and nothing that may give access.
func TestServersWords(t *testing.T) {
	redirect := func(to string) string { return "302 Found\nLocation: " + to }
	for _, tt := range []struct{ name, answer, want string }{
		{"a redirect with a control character", redirect("http://[::1/?sig=HUSH\x1b[31m"), "malformed MIME header line..."},
		{"a redirect to a name that is not printed", redirect("http://%e2%80%aehost%c2%9b.invalid/?sig=HUSH"), "lookup ?host?.invalid"},
		{"a redirect to a port that there is not", redirect("http://HUSH:HUSH@127.0.0.1:99999/?sig=HUSH"), "invalid port"},
		{"a redirect to a long scheme", redirect(strings.Repeat("x", 3000) + "://host/?sig=HUSH"), "a redirect to what is neither http nor https"},
		{"a redirect to a long host", redirect("http://" + strings.Repeat("h", 3000) + "/?sig=HUSH"), "dial tcp"},
		{"a status in color", "\x1b[31mHUSH", "malformed HTTP status code..."},
		{"an unknown status", "299 HUSH\nContent-Length: 0", "the server answers 299"},
		{"a field in color", "200 OK\n\x1b[31mHUSH", "missing colon..."},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := serve(t, nil, func(w http.ResponseWriter, r *http.Request, _ int) bool { raw(tt.answer)(w, r); return true })
			_, err := NewReaderAt(t.Context(), s.URL, &Options{Retries: -1})
			if err == nil {
				t.Fatal("it opened")
			}
			got := err.Error()
			if !strings.Contains(got, tt.want) || strings.Contains(got, "HUSH") || len(got) > 600 || strings.ContainsFunc(got, func(r rune) bool { return !strconv.IsPrint(r) }) {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
}

// TestOptions: what makes no sense is refused, and defaults hold for what is not set.
func TestOptions(t *testing.T) {
	for _, o := range []Options{
		{Window: -1}, {Window: mostBytes + 1}, {Part: -1}, {Part: mostBytes + 1}, {Parallel: -1},
		{Backoff: -1}, {MaxWait: -1}, {Stall: -1}, {Timeout: -1}, {Stall: mostTime + 1},
	} {
		expect.Refused(t, format.ErrOption, o)(NewReaderAt(t.Context(), "http://127.0.0.1:1/", &o))
	}
	got, err := (*Options)(nil).checked()
	want := Options{Window: 256 << 10, Part: 2 << 20, Parallel: 8, Retries: 4, Backoff: 100 * time.Millisecond, MaxWait: 30 * time.Second, Stall: 30 * time.Second}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("the defaults: %v (-want +got)\n%s", err, diff)
	}
}

// TestClient: requests go through the caller's client, with the caller's header, over TLS and HTTP/2, and
// follow redirects.
func TestClient(t *testing.T) {
	data := pattern(100_000)
	s := &server{data: data, tag: `"one"`}
	s.wrong = func(w http.ResponseWriter, r *http.Request, n int) bool {
		if r.ProtoMajor != 2 || r.Header.Get("Authorization") != "mine" || r.Header.Get("Accept-Encoding") != "identity" {
			t.Errorf("%s with header %v", r.Proto, r.Header)
		}
		if r.URL.Path == "/" {
			http.Redirect(w, r, "/there", http.StatusTemporaryRedirect)
		}
		return r.URL.Path == "/"
	}
	s.Server = httptest.NewUnstartedServer(http.HandlerFunc(s.answer))
	s.Config.ErrorLog = log.New(io.Discard, "", 0) // of the certificate that is refused below
	s.EnableHTTP2 = true
	s.StartTLS()
	defer s.Close()
	header := http.Header{"Authorization": {"mine"}, "Range": {"bytes=1-2"}, "If-Range": {`"other"`}, "Accept-Encoding": {"gzip"}}
	r := reader(t, s, &Options{Client: s.Client(), Header: header, Window: 1000, Part: 10_000})
	header.Set("Authorization", "changed later")
	p := make([]byte, len(data))
	if _, err := r.ReadAt(p, 0); err != nil || !bytes.Equal(p, data) {
		t.Error("other bytes: ", err)
	}
	// A certificate that is not trusted is not tried again.
	r, err := NewReaderAt(t.Context(), s.URL, nil)
	if err == nil || errors.Is(err, ErrUnavailable) || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("a server that is not trusted: %v, %v", r, err)
	}
}

// TestReadContext: a verification, and a read with a context, end with theirs though the server does not
// answer.
func TestReadContext(t *testing.T) {
	model := written(t, "mag", 3, 400)
	s, waiting := stuck(t, model)
	m, err := Open(t.Context(), s.URL, &Options{Window: len(model) / 2})
	expect.OK(t, err)
	defer m.Close()
	for name, read := range map[string]func(context.Context) error{
		"Verify": func(ctx context.Context) error { _, err := m.Verify(ctx, nil); return err },
		"ReadIntoContext": func(ctx context.Context) error {
			_, err := m.At(2).ReadIntoContext(ctx, make([]byte, 400*256))
			return err
		},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- read(ctx) }()
		<-waiting
		cancel()
		expect.Refused(t, context.Canceled, name)(nil, <-done)
		for len(waiting) > 0 { // other ranges of the same read
			<-waiting
		}
	}
}

// TestReads: ReadAt is that of any io.ReaderAt.
func TestReads(t *testing.T) {
	data := pattern(10_000)
	r := reader(t, serve(t, data, nil), &Options{Window: 1000})
	for _, tt := range []struct {
		n    int
		off  int64
		want int
		err  error
	}{
		{0, 0, 0, nil}, {0, 5000, 0, nil}, {0, 20_000, 0, nil}, {1, 10_000, 0, io.EOF}, {1, 1 << 62, 0, io.EOF},
		{10, 9_995, 5, io.EOF}, {10, 9_990, 10, nil}, {10_000, 0, 10_000, nil}, {10_001, 0, 10_000, io.EOF}, {10, 995, 10, nil}, {10, -1, 0, tensor.ErrCorrupt},
	} {
		p, before := make([]byte, tt.n), r.Stats().Requests
		n, err := r.ReadAt(p, tt.off)
		if tt.off < 0 && r.Stats().Requests != before {
			t.Errorf("the server gets a request for offset %d", tt.off)
		}
		if n != tt.want || !errors.Is(err, tt.err) || n > 0 && !bytes.Equal(p[:n], data[tt.off:][:n]) {
			t.Errorf("%d bytes at %d: %d, %v", tt.n, tt.off, n, err)
		}
	}
}

// trip is a transport.
type trip func(r *http.Request) (*http.Response, error)

func (f trip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// TestUnsendable: what no other attempt mends is not tried again.
func TestUnsendable(t *testing.T) {
	target := ""
	s := serve(t, nil, func(w http.ResponseWriter, r *http.Request, n int) bool {
		w.Header().Set("Location", target)
		w.WriteHeader(http.StatusFound)
		return true
	})
	for _, tt := range []struct {
		name, url, target string
		header            http.Header
		requests          int64
		want              error
	}{
		{"an unknown scheme", "s3://bucket/m.mag", "", nil, 1, format.ErrOption},
		{"no scheme", "host/m.mag", "", nil, 0, format.ErrOption},
		{"no host", "http:///m.mag", "", nil, 0, format.ErrOption},
		{"no host but a port", "https://:443/m.mag", "", nil, 0, format.ErrOption},
		{"something else behind the scheme", "http:host/m.mag", "", nil, 0, format.ErrOption},
		{"a header field with a line feed", s.URL, "", http.Header{"X": {"HUSH\n"}}, 1, format.ErrOption},
		{"a redirect to an unknown scheme", s.URL, "s3://bucket/?token=HUSH", nil, 1, ErrAnswer},
		{"a circle", s.URL, "/?token=HUSH", nil, 10, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			target = tt.target
			n := int64(0)
			o := quick()
			o.Client, o.Header = &http.Client{Transport: trip(func(r *http.Request) (*http.Response, error) {
				n++
				return http.DefaultTransport.RoundTrip(r)
			})}, tt.header
			_, err := Open(t.Context(), tt.url, o)
			if err == nil || errors.Is(err, ErrUnavailable) || tt.want != nil && !errors.Is(err, tt.want) {
				t.Errorf("%v, want %v", err, tt.want)
			}
			if err != nil && strings.Contains(err.Error(), "HUSH") {
				t.Errorf("a secret: %v", err)
			}
			if n != tt.requests {
				t.Errorf("%d requests, want %d", n, tt.requests)
			}
		})
	}
	// A client that knows the scheme is asked.
	c := http.DefaultTransport.(*http.Transport).Clone()
	c.RegisterProtocol("s3", http.NewFileTransport(http.Dir(t.TempDir())))
	_, err := Open(t.Context(), "s3://bucket/m.mag", &Options{Client: &http.Client{Transport: c}})
	var status *StatusError
	if !errors.As(err, &status) || status.Code != http.StatusNotFound {
		t.Errorf("a scheme of the client's: %v", err)
	}
	var e *tensor.Error
	if !errors.As(err, &e) || e.Path != "s3://bucket/m.mag" {
		t.Errorf("%v does not name the object", err)
	}
}

// TestChaos reads with several goroutines from a server that does anything wrong at random, and at some time
// serves another object: every read is right or an error, and ends. WEIGHTMAP_ROUNDS sets
// how many servers there are.
func TestChaos(t *testing.T) {
	rounds := 10
	if said, err := strconv.Atoi(os.Getenv("WEIGHTMAP_ROUNDS")); err == nil {
		rounds = said
	}
	one, two := pattern(200_000), pattern(200_001)[1:]
	var good, changed, failed int
	for round := range rounds {
		var mu sync.Mutex
		random := rand.New(rand.NewPCG(1, uint64(round)))
		draw := func(n int) int {
			mu.Lock()
			defer mu.Unlock()
			return random.IntN(n)
		}
		var s *server
		s = serve(t, one, func(w http.ResponseWriter, r *http.Request, n int) bool {
			if n == 60 {
				s.replace(two, `"two"`)
			}
			return n > 0 && misbehave(s, w, r, draw(14), draw(5000))
		})
		o := &Options{
			Window: 1 + draw(5000), Part: 1 + draw(30_000), Parallel: 1 + draw(8), Retries: draw(6),
			Backoff: time.Microsecond, MaxWait: time.Millisecond, Stall: 20 * time.Millisecond,
		}
		r, err := NewReaderAt(t.Context(), s.URL, o)
		for err != nil { // the first answer is right, but a busy machine may take it for stalled
			if !errors.Is(err, ErrUnavailable) && !errors.Is(err, ErrAnswer) {
				t.Fatal(err)
			}
			r, err = NewReaderAt(t.Context(), s.URL, o)
		}
		if draw(2) == 0 {
			r.Parsed()
		}
		var group sync.WaitGroup
		for range 4 {
			group.Go(func() {
				for range 10 {
					off := draw(len(one))
					p := make([]byte, 1+draw(len(one)-off))
					_, err := r.ReadAt(p, int64(off))
					mu.Lock()
					switch {
					case err == nil && !bytes.Equal(p, one[off:][:len(p)]):
						t.Errorf("round %d: other bytes at %d", round, off)
					case err == nil:
						good++
					case errors.Is(err, ErrChanged):
						changed++
					case errors.Is(err, ErrUnavailable) || errors.Is(err, ErrAnswer):
						failed++
					default:
						t.Errorf("round %d: %v", round, err)
					}
					mu.Unlock()
				}
			})
		}
		group.Wait()
	}
	t.Logf("%d reads were right, %d found another object, %d failed", good, changed, failed)
	if good == 0 || changed == 0 || failed == 0 {
		t.Error("not everything happened")
	}
}

// misbehave answers wrongly in one of some ways, or not at all.
func misbehave(s *server, w http.ResponseWriter, r *http.Request, way, n int) bool {
	switch way {
	case 0:
		w.WriteHeader(http.StatusServiceUnavailable)
	case 1:
		panic(http.ErrAbortHandler)
	case 2, 3, 4:
		s.right(&cutting{w, 1 + n}, r)
	case 5:
		s.right(&stalling{w, s, r, n}, r)
	case 6:
		r.Header.Del("If-Range")
		s.right(w, r)
	case 7:
		// The range before the requested one.
		var first, last int64
		fmt.Sscanf(r.Header.Get("Range"), "bytes=%d-%d", &first, &last)
		r.Header.Set("Range", fmt.Sprintf("bytes=%d-%d", max(0, first-1), max(0, last-1)))
		s.right(w, r)
	default:
		return false
	}
	return true
}

// stalling stops after left bytes until the client disconnects.
type stalling struct {
	http.ResponseWriter
	s    *server
	r    *http.Request
	left int
}

func (s *stalling) Write(b []byte) (int, error) {
	n := min(len(b), s.left)
	if k, err := s.ResponseWriter.Write(b[:n]); err != nil || n == len(b) {
		s.left -= n
		return k, err
	}
	_ = http.NewResponseController(s.ResponseWriter).Flush()
	s.s.hold(s.r)
	return 0, errors.New("the client has disconnected")
}

func (s *stalling) Unwrap() http.ResponseWriter { return s.ResponseWriter }
