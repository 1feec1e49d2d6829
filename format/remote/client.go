package remote

import (
	"net/http"
	"sync"
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
