package remote

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/weightmap/weightmap/internal/expect"
)

// FuzzAnswer reads bytes 20 to 29 of 48 from a server that answers anything. Where that is no error, the
// answer said that it is these bytes, and had as many.
func FuzzAnswer(f *testing.F) {
	for _, s := range []string{
		"206 P\nETag: \"1\"\nContent-Range: bytes 20-29/48\nContent-Length: 10\n\n0123456789",
		"206 P\nETag: \"1\"\nContent-Range: bytes 20-29/48\nTransfer-Encoding: chunked\n\na\n0123456789\n0\n\n",
		"206 P\nETag: \"1\"\nContent-Range: bytes 20-29/48\n\n0123456789",
		"206 P\nETag: \"1\"\nContent-Range: bytes 20-29/48\n\n0123456789a",
		"206 P\nETag: \"1\"\nContent-Range: bytes 20-29/48\nContent-Length: 11\n\n0123456789a",
		"206 P\nETag: \"1\"\nContent-Type: multipart/byteranges; boundary=a\n\n--a\n\n0123456789\n--a--",
		"200 O\nETag: \"1\"\nContent-Length: 48\n\n012345678901234567890123456789012345678901234567",
		"429 T\nRetry-After: 99999999999999999999\n\n",
		"503 T\nRetry-After: Sun, 06 Nov 1994 08:49:37 GMT\n\n",
	} {
		f.Add([]byte("HTTP/1.1 " + strings.ReplaceAll(s, "\n", "\r\n")))
	}
	data := []byte("0123456789012345678901234567890123456789abcdefgh")
	f.Fuzz(func(t *testing.T, answer []byte) {
		requests := 0
		scripted := trip(func(r *http.Request) (*http.Response, error) {
			switch requests++; requests {
			case 1:
				return &http.Response{
					StatusCode: http.StatusPartialContent, ContentLength: 16, Body: io.NopCloser(bytes.NewReader(data[:16])),
					Header: http.Header{"Etag": {`"1"`}, "Content-Range": {"bytes 0-15/48"}},
				}, nil
			case 2:
				return http.ReadResponse(bufio.NewReader(bytes.NewReader(answer)), r)
			}
			return nil, io.ErrClosedPipe
		})
		o := &Options{Client: &http.Client{Transport: scripted, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}, Window: 16, Retries: -1}
		r, err := NewReaderAt(t.Context(), "http://host/", o)
		expect.OK(t, err)
		r.Parsed()
		p := make([]byte, 10)
		n, err := r.ReadAt(p, 20)
		if err != nil {
			return
		}
		resp, parsed := http.ReadResponse(bufio.NewReader(bytes.NewReader(answer)), nil)
		if parsed != nil {
			t.Fatal("what is no answer was read: ", parsed)
		}
		body, _ := io.ReadAll(resp.Body)
		fields := strings.Fields(resp.Header.Get("Content-Range"))
		if n != 10 || resp.StatusCode != 206 || resp.Header.Get("ETag") != `"1"` || len(fields) != 2 || fields[1] != "20-29/48" || !bytes.HasPrefix(body, p) {
			t.Errorf("%q was read of\n%s", p, answer)
		}
	})
}

// TestRetryAfter: seconds or a date, and nothing of what is neither.
func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 11, 22, 9, 0, 0, 0, time.UTC)
	for value, want := range map[string]time.Duration{
		"": 0, "0": 0, "7": 7 * time.Second, "-7": 0, "+7": 0, "soon": 0, "7.5": 0,
		"9223372036854775807":           1 << 62 / time.Second * time.Second,
		"9223372036854775808":           0,
		"Sun, 22 Nov 2026 09:00:07 GMT": 7 * time.Second,
		"Sun, 22 Nov 2026 08:59:00 GMT": 0,
	} {
		a := reply{Header: http.Header{"Retry-After": {value}}}
		if got := a.retryAfter(now); got != want {
			t.Errorf("Retry-After %q: %v, want %v", value, got, want)
		}
	}
}

// TestBackoff doubles up to the limit, give or take half.
func TestBackoff(t *testing.T) {
	o := Options{Backoff: 100, MaxWait: 1000}
	for tries, middle := range []time.Duration{100, 200, 400, 800, 1000, 1000} {
		for range 100 {
			if d := o.backoff(tries); d < middle/2 || d > min(middle*3/2, 1000) {
				t.Errorf("try %d: %d", tries, d)
			}
		}
	}
	o.Backoff, o.MaxWait = 1<<59, mostTime
	for tries := range 70 {
		if d := o.backoff(tries); d < 0 || d > o.MaxWait {
			t.Errorf("try %d: %d", tries, d)
		}
	}
}
