package remote

import (
	"cmp"
	"math"
	"net/http"
	"time"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/wire"
)

// Options changes how an object is read. Nil and the zero value work. A negative value is
// format.ErrOption, except for Retries.
type Options struct {
	// Client sends the requests. It is copied: its Transport decides about TLS and proxies, its
	// CheckRedirect is asked about each redirect, and its Jar keeps cookies, but no redirect gets
	// Header from the origin of the address to another: see the package documentation. What another
	// origin needs belongs in the Transport. Its Timeout ends bodies too; the read then continues
	// with a new request. Nil means a client like http.DefaultClient that keeps 64 connections to a
	// host and limits response headers to 64 KiB; so does a Client without a Transport. Set
	// MaxResponseHeaderBytes in a Transport of your own: the default of net/http, 10 MiB, can take
	// a gigabyte of memory.
	Client *http.Client
	// Header is sent with each request, to the scheme, host and port of the address only. It is
	// copied when the object is opened. The fields Range, If-Range and Accept-Encoding are ignored.
	Header http.Header
	// AllowUnversioned reads objects without a strong ETag and without a Last-Modified at least a
	// second old. Only checksums then find a change that keeps the size and the weak tag.
	AllowUnversioned bool

	// Window is the number of bytes that the first request fetches and caches, so that a model with
	// its structure at the front opens with one request; 0 means 256 KiB. During opening, further
	// reads fetch from 1/16 of it, if the structure is scattered, to 4 times as much, if it
	// continues; up to 8 times as much of that is cached too. At most 128 MiB.
	Window int
	// Part is the minimum size of the ranges into which a large read is split to fetch them
	// concurrently; 0 means 2 MiB. At most 128 MiB.
	Part int
	// Parallel is the maximum number of concurrent requests; 0 means 8.
	Parallel int

	// Retries is the number of times that a range is requested again from where it ended; 0 means
	// 4, and a negative number means never.
	Retries int
	// Backoff is the wait before the first retry, varied by up to half, and doubles with each
	// retry; 0 means 100 ms.
	Backoff time.Duration
	// MaxWait is the longest wait before a retry; 0 means 30 s. If the server asks for more
	// (Retry-After), the read fails with ErrUnavailable at once.
	MaxWait time.Duration
	// Stall ends an attempt that received less than 16 KiB in this time; 0 means 30 s.
	Stall time.Duration
	// Timeout is the limit for a read with all its attempts; 0 means none.
	Timeout time.Duration

	// Open has the options to open the model.
	Open *format.Options
}

// Limits of sizes and times, so that small multiples do not overflow.
const (
	mostBytes = 128 << 20
	mostTime  = 1 << 60 // nanoseconds
)

// checked returns a copy with defaults filled in, or an error. It works on nil.
func (o *Options) checked() (Options, error) {
	c := *cmp.Or(o, &Options{})
	c.Retries = cmp.Or(c.Retries, 4)
	err := cmp.Or(
		settle("Window", &c.Window, 256<<10, mostBytes),
		settle("Part", &c.Part, 2<<20, mostBytes),
		settle("Parallel", &c.Parallel, 8, math.MaxInt32),
		settle("Backoff", &c.Backoff, 100*time.Millisecond, mostTime),
		settle("MaxWait", &c.MaxWait, 30*time.Second, mostTime),
		settle("Stall", &c.Stall, 30*time.Second, mostTime),
		settle("Timeout", &c.Timeout, 0, mostTime))
	return c, err
}

// settle replaces an option that is 0 with its default, and checks its limits.
func settle[T int | time.Duration](name string, option *T, value, most T) error {
	*option = cmp.Or(*option, value)
	if *option < 0 || *option > most {
		return wire.Errorf("", name, -1, format.ErrOption, "%d", int64(*option))
	}
	return nil
}
