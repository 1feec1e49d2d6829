package remote

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/tensor"
)

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
