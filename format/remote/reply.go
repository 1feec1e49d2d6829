package remote

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// reply is the part of a response before the body.
type reply struct {
	code         int
	header       http.Header
	length       int64 // of the body; -1 if unknown
	uncompressed bool  // the client decompressed the body
}

// errWhole is the error for a server that ignores ranges.
var errWhole = fmt.Errorf("%w: the server answers with the whole object, which is larger than Options.Window", ErrNoRanges)

// judge checks that the body has n bytes from off of the object, and returns the object's version. Its
// size is -1 if only the body shows it.
func (a *reply) judge(off, n int64, known Version) (Version, error) {
	switch a.code {
	case http.StatusPartialContent:
		return a.part(off, n, known)
	case http.StatusOK:
		return a.whole(n, known)
	case http.StatusRequestedRangeNotSatisfiable:
		return a.beyond(known)
	case http.StatusPreconditionFailed:
		if known.known() {
			return Version{}, ErrChanged
		}
	case http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests, http.StatusInternalServerError,
		http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return Version{}, &Temporary{After: a.retryAfter(time.Now()), Err: &StatusError{a.code}}
	}
	return Version{}, &StatusError{a.code}
}

// part checks a partial response.
func (a *reply) part(off, n int64, known Version) (Version, error) {
	if err := a.plain(); err != nil {
		return Version{}, err
	}
	first, last, total, err := parseRange(a.header["Content-Range"])
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
	if a.length >= 0 && a.length != last-first+1 {
		return Version{}, nonsense("a body of %d bytes for a range of %d", a.length, last-first+1)
	}
	return v, nil
}

// whole checks a response with the whole object. A server may send all of a small object; for a known
// version it means that the version has changed.
func (a *reply) whole(n int64, known Version) (Version, error) {
	if err := a.plain(); err != nil {
		return Version{}, err
	}
	v := a.version(a.length)
	switch {
	case known.known() && (a.length >= 0 && a.length != known.Size || v.Tag != known.Tag):
		return Version{}, ErrChanged
	case known.known():
		return Version{}, fmt.Errorf("%w: the server answers with the whole object", ErrNoRanges)
	case a.length > n:
		return Version{}, errWhole
	}
	return v, nil
}

// beyond checks the refusal of a range outside the object.
func (a *reply) beyond(known Version) (Version, error) {
	size, ok := parseSize(a.header["Content-Range"])
	switch {
	case ok && size == 0 && !known.known():
		return a.version(0), nil
	case ok && known.known() && size != known.Size:
		return Version{}, ErrChanged
	}
	return Version{}, nonsense("a range that is in the object is refused")
}

// plain refuses bodies with an encoding or in several parts.
func (a *reply) plain() error {
	if e := a.header.Get("Content-Encoding"); a.uncompressed || e != "" && !strings.EqualFold(e, "identity") {
		return nonsense("the body is compressed (%.40q), which was not asked for", e)
	}
	if t := a.header.Get("Content-Type"); a.code == http.StatusPartialContent && len(t) >= 10 && strings.EqualFold(t[:10], "multipart/") {
		return nonsense("the body has several parts (%.40q), one was asked for", t)
	}
	return nil
}

// mostTag limits the length of a stored tag.
const mostTag = 1 << 10

// version returns the version in the header of an object of that size. It uses the best well-formed
// field, so that it is the same for each response. A Last-Modified must be older than a second,
// because another change in the same second would not show.
func (a *reply) version(size int64) Version {
	tag, changed := a.header.Get("ETag"), a.header.Get("Last-Modified")
	when, err := http.ParseTime(changed)
	date, noDate := http.ParseTime(a.header.Get("Date"))
	switch {
	case len(tag) > mostTag:
		return Version{Size: size}
	case isStrongTag(tag):
		return Version{Size: size, Tag: tag, Strong: true}
	case err == nil && len(changed) <= mostTag:
		return Version{Size: size, Tag: changed, Strong: noDate == nil && date.Sub(when) >= time.Second}
	}
	return Version{Size: size, Tag: tag}
}

// isStrongTag reports whether a tag is a strong entity tag.
func isStrongTag(tag string) bool {
	return len(tag) >= 2 && tag[0] == '"' && strings.IndexByte(tag[1:], '"') == len(tag)-2
}

// parseRange parses a Content-Range field with a range: bytes FIRST-LAST/TOTAL.
func parseRange(fields []string) (first, last, total int64, err error) {
	unit, rest, all := unitOf(fields)
	span, size, _ := strings.Cut(rest, "/")
	from, to, _ := strings.Cut(span, "-")
	first, hasFirst := number(from)
	last, hasLast := number(to)
	total, _ = number(size) // 0 when there is none, and nothing is in so few bytes
	if !hasFirst || !hasLast || !strings.EqualFold(unit, "bytes") || first > last || last >= total {
		return 0, 0, 0, nonsense("Content-Range %.80q", all)
	}
	return first, last, total, nil
}

// parseSize parses a Content-Range field of a refusal: bytes */TOTAL.
func parseSize(fields []string) (int64, bool) {
	unit, rest, _ := unitOf(fields)
	size, ok := strings.CutPrefix(rest, "*/")
	total, isNumber := number(size)
	return total, ok && isNumber && strings.EqualFold(unit, "bytes")
}

// unitOf splits the only Content-Range field at its space.
func unitOf(fields []string) (unit, rest, all string) {
	all = strings.Join(fields, ", ")
	if len(fields) == 1 {
		unit, rest, _ = strings.Cut(strings.TrimSpace(fields[0]), " ")
	}
	return unit, rest, all
}

// number parses decimal digits, without a sign.
func number(s string) (int64, bool) {
	if s == "" || s[0] == '+' {
		return 0, false
	}
	n, err := strconv.ParseInt(s, 10, 64)
	return n, err == nil && n >= 0
}

// retryAfter returns the wait that the server requests, in seconds or as a date.
func (a *reply) retryAfter(now time.Time) time.Duration {
	value := a.header.Get("Retry-After")
	if s, ok := number(value); ok {
		return time.Duration(min(s, int64(1<<62/time.Second))) * time.Second
	}
	if at, err := http.ParseTime(value); err == nil {
		return max(0, at.Sub(now))
	}
	return 0
}
