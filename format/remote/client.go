package remote

import (
	"net/http"
	"runtime"
	"sync"
	"weak"
)

// mostHeader bounds the header of an answer. net/http takes 10 MiB unless it is told otherwise,
// of which a server can make more than a gigabyte of memory.
const mostHeader = 64 << 10

// defaultTransport keeps as many connections as ranges are fetched at a time; that of net/http
// keeps two.
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

// bounded returns a client like the caller's, which may be nil, whose transport bounds headers.
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

// boundedTransports has one copy of each transport, by a weak pointer to it, so that all
// objects that are read through it share connections.
var boundedTransports sync.Map

// boundedTransport returns a copy of a transport that has no bound yet.
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
		return t // another implementation of HTTP/2 is bound to the transport itself
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
