package remote

import (
	"net/http"
	"runtime"
	"sync"
	"weak"
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

// bounded returns a client like c, which may be nil, whose transport limits headers.
func bounded(c *http.Client) *http.Client {
	if c == nil {
		return &http.Client{Transport: defaultTransport()}
	}
	same := *c
	switch t := c.Transport.(type) {
	case nil:
		same.Transport = defaultTransport()
	case *http.Transport:
		same.Transport = boundedTransport(t)
	}
	return &same
}

// boundedTransports maps weak pointers to transports to their copies, so that all objects read through
// one transport share connections.
var boundedTransports sync.Map

// boundedTransport returns a copy of t with a limit on headers, unless it has one.
func boundedTransport(t *http.Transport) *http.Transport {
	if t.MaxResponseHeaderBytes > 0 {
		return t
	}
	key := weak.Make(t)
	if b, ok := boundedTransports.Load(key); ok {
		return b.(*http.Transport)
	}
	b := t.Clone()
	if b.TLSNextProto["h2"] != nil {
		return t // another HTTP/2 implementation is tied to this transport
	}
	b.MaxResponseHeaderBytes = mostHeader
	if other, loaded := boundedTransports.LoadOrStore(key, b); loaded {
		return other.(*http.Transport)
	}
	runtime.AddCleanup(t, func(key weak.Pointer[http.Transport]) {
		if b, ok := boundedTransports.LoadAndDelete(key); ok {
			b.(*http.Transport).CloseIdleConnections()
		}
	}, key)
	return b
}
