package remote

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/tensor"
)

// TestErrorsNameTheURL: each error of a model names its URL, once and without what is secret in it.
func TestErrorsNameTheURL(t *testing.T) {
	ctx := context.Background()
	data, page := written(t, "mag", 3, 40), []byte("<!DOCTYPE html>")
	read := func(m *format.Model) error {
		_, err := m.At(1).Bytes()
		return err
	}
	verify := func(m *format.Model) error {
		_, err := m.Verify(ctx)
		return err
	}
	for _, tt := range []struct {
		name    string
		data    []byte
		o       Options
		changes bool // once it is open
		do      func(*format.Model) error
		want    error
	}{
		{"a page to log in", page, Options{}, false, nil, format.ErrUnknownFormat},
		{"one for a format", page, Options{Open: &format.Options{Format: "mag"}}, false, nil, format.ErrMagic},
		{"cut short", data[:len(data)-500], Options{}, false, nil, format.ErrTruncated},
		{"not there", nil, Options{}, false, nil, fs.ErrNotExist},
		{"a read", data, Options{Window: 1}, true, read, ErrChanged},
		{"a verification", data, Options{Window: 1}, true, verify, ErrChanged},
		{"a key", data, Options{}, false, func(m *format.Model) error {
			_, err := m.Verify(ctx, format.WithTrustedKey("none"))
			return err
		}, format.ErrKey},
		{"a name that is not there", data, Options{}, false, func(m *format.Model) error {
			_, err := m.Tensor("none")
			return err
		}, format.ErrNotFound},
		{"closed", data, Options{}, false, func(m *format.Model) error {
			m.Close()
			return verify(m)
		}, format.ErrClosed},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var changed atomic.Bool
			s := serve(t, tt.data, func(w http.ResponseWriter, r *http.Request, n int) bool {
				switch {
				case tt.data == nil:
					http.NotFound(w, r)
				case changed.Load():
					w.Header().Set("ETag", `"two"`)
					w.Write(data)
				default:
					return false
				}
				return true
			})
			url := s.URL + "/dir/m.mag"
			m, err := Open(ctx, strings.Replace(url, "http://", "http://me:HUSH@", 1)+"?token=HUSH", &tt.o)
			if err == nil {
				defer m.Close()
				if m.Path() != "" || m.Files() != nil {
					t.Errorf("a path: %q, %q", m.Path(), m.Files())
				}
				changed.Store(tt.changes)
				err = tt.do(m)
			}
			if !errors.Is(err, tt.want) {
				t.Errorf("%v, want %v", err, tt.want)
			}
			var e *format.Error
			if !errors.As(err, &e) || e.Path != url {
				t.Errorf("%v does not name %s", err, url)
			}
			if text := fmt.Sprint(err); strings.Count(text, s.URL) != 1 || strings.Contains(text, "HUSH") {
				t.Errorf("text: %s", text)
			}
		})
	}
}

// counting counts what a client sends.
type counting struct {
	http.RoundTripper
	n atomic.Int64
}

func (c *counting) RoundTrip(r *http.Request) (*http.Response, error) {
	c.n.Add(1)
	return c.RoundTripper.RoundTrip(r)
}

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
		{"a redirect to an unknown scheme", s.URL, "s3://bucket/?token=HUSH", nil, 2, format.ErrOption},
		{"a circle", s.URL, "/?token=HUSH", nil, 10, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			target = tt.target
			transport := &counting{RoundTripper: http.DefaultTransport}
			o := quick()
			o.Client, o.Header = &http.Client{Transport: transport}, tt.header
			_, err := Open(context.Background(), tt.url, o)
			if err == nil || errors.Is(err, ErrUnavailable) || tt.want != nil && !errors.Is(err, tt.want) {
				t.Errorf("%v, want %v", err, tt.want)
			}
			if err != nil && strings.Contains(err.Error(), "HUSH") {
				t.Errorf("a secret: %v", err)
			}
			if n := transport.n.Load(); n != tt.requests {
				t.Errorf("%d requests, want %d", n, tt.requests)
			}
		})
	}
	// A client that knows the scheme is asked.
	c := http.DefaultTransport.(*http.Transport).Clone()
	c.RegisterProtocol("s3", http.NewFileTransport(http.Dir(t.TempDir())))
	_, err := Open(context.Background(), "s3://bucket/m.mag", &Options{Client: &http.Client{Transport: c}})
	var status *StatusError
	if !errors.As(err, &status) || status.Code != http.StatusNotFound {
		t.Errorf("a scheme of the client's: %v", err)
	}
	var e *tensor.Error
	if !errors.As(err, &e) || e.Path != "s3://bucket/m.mag" {
		t.Errorf("%v does not name the object", err)
	}
}
