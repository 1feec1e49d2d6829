package remote

import (
	"cmp"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// reply is a response; its body is not read here.
type reply http.Response

// judge checks that the body has n bytes from off of the object, and returns the object's version.
func (a *reply) judge(off, n int64, known Version) (Version, error) {
	switch a.StatusCode {
	case http.StatusPartialContent, http.StatusOK:
		if e := a.Header.Get("Content-Encoding"); e != "" && !strings.EqualFold(e, "identity") {
			return Version{}, nonsense("the body is compressed (%.40q), which was not asked for", e)
		}
		if a.StatusCode == http.StatusOK {
			return a.whole(n, known)
		}
		return a.part(off, n, known)
	case http.StatusRequestedRangeNotSatisfiable:
		if known.known() {
			return Version{}, ErrChanged
		}
		return Version{}, nonsense("the object is empty, or the server refuses its first bytes")
	case http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests, http.StatusInternalServerError,
		http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return Version{}, &Temporary{After: a.retryAfter(time.Now()), Err: &StatusError{a.StatusCode}}
	}
	return Version{}, &StatusError{a.StatusCode}
}

// part checks a partial response.
func (a *reply) part(off, n int64, known Version) (Version, error) {
	first, last, total, err := parseRange(a.Header.Get("Content-Range"))
	if err != nil {
		return Version{}, err
	}
	v := a.version(total)
	if v.Tag == "" && known.Strong {
		if isStrongTag(known.Tag) {
			return Version{}, nonsense("a range without the version of the others")
		}
		v.Tag = known.Tag // If-Range held, and then a server need not repeat the time
	}
	if known.known() && !v.same(&known) {
		return v, nil // which the Reader refuses, wherever the bytes are from
	}
	if want := min(off+n, total) - 1; first != off || last != want {
		return Version{}, nonsense("bytes %d to %d of %d where %d to %d were asked for", first, last, total, off, want)
	}
	if a.ContentLength >= 0 && a.ContentLength != last-first+1 {
		return Version{}, nonsense("a body of %d bytes for a range of %d", a.ContentLength, last-first+1)
	}
	return v, nil
}

// whole checks a response with the whole object. A server may send all of a small object; for a known
// version it means that the version has changed.
func (a *reply) whole(n int64, known Version) (Version, error) {
	v := a.version(a.ContentLength)
	switch {
	case known.known() && (v.Tag != known.Tag || v.Size >= 0 && v.Size != known.Size):
		return Version{}, ErrChanged
	case known.known() || v.Size < 0 || v.Size > n:
		return Version{}, fmt.Errorf("%w: the server answers with the whole object, which is not smaller than Options.Window", ErrNoRanges)
	}
	return v, nil
}

// version returns the version in the header of an object of that size. It uses the best well-formed
// field, so that it is the same for each response. A Last-Modified must be older than a second,
// because another change in the same second would not show.
func (a *reply) version(size int64) Version {
	tag, changed := a.Header.Get("ETag"), a.Header.Get("Last-Modified")
	when, err := http.ParseTime(changed)
	date, noDate := http.ParseTime(a.Header.Get("Date"))
	switch {
	case isStrongTag(tag):
		return Version{Size: size, Tag: tag, Strong: true}
	case err == nil:
		return Version{Size: size, Tag: changed, Strong: noDate == nil && date.Sub(when) >= time.Second}
	}
	return Version{Size: size, Tag: tag}
}

// isStrongTag reports whether a tag is a strong entity tag.
func isStrongTag(tag string) bool {
	return len(tag) >= 2 && tag[0] == '"' && strings.IndexByte(tag[1:], '"') == len(tag)-2
}

// parseRange parses a Content-Range field: bytes FIRST-LAST/TOTAL.
func parseRange(field string) (first, last, total int64, err error) {
	unit, rest, _ := strings.Cut(strings.TrimSpace(field), " ")
	span, size, _ := strings.Cut(rest, "/")
	from, to, _ := strings.Cut(span, "-")
	first, err1 := number(from)
	last, err2 := number(to)
	total, err3 := number(size)
	if cmp.Or(err1, err2, err3) != nil || !strings.EqualFold(unit, "bytes") || first > last || last >= total {
		return 0, 0, 0, nonsense("Content-Range %.80q", field)
	}
	return first, last, total, nil
}

// number parses decimal digits, without a sign.
func number(s string) (int64, error) {
	n, err := strconv.ParseUint(s, 10, 63)
	return int64(n), err
}

// retryAfter returns the wait that the server requests, in seconds or as a date.
func (a *reply) retryAfter(now time.Time) time.Duration {
	value := a.Header.Get("Retry-After")
	if s, err := number(value); err == nil {
		return time.Duration(min(s, int64(1<<62/time.Second))) * time.Second
	}
	if at, err := http.ParseTime(value); err == nil {
		return max(0, at.Sub(now))
	}
	return 0
}
