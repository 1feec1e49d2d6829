package remote

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/url"
	"testing"
	"testing/iotest"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/expect"
)

// told is an Object that answers what it is told, after a first answer that is right.
type told struct {
	data []byte
	next []func(off, n int64) (Answer, error)
	n    int
}

var strong = Version{Size: 1000, Tag: "1", Strong: true}

func (o *told) Get(_ context.Context, off, n int64, known Version) (Answer, error) {
	if o.n++; o.n >= 2 {
		return o.next[min(o.n-2, len(o.next)-1)](off, n)
	}
	return o.right(off, n)
}

func (o *told) right(off, n int64) (Answer, error) {
	return Answer{strong, io.NopCloser(bytes.NewReader(o.data[off:][:n]))}, nil
}

// lying claims to have read k bytes.
type lying int

func (k lying) Read([]byte) (int, error) { return int(k), nil }

// closing is a body of which Close fails.
type closing struct {
	io.Reader
	err error
}

func (c closing) Close() error { return c.err }

// TestObjects: no Object is trusted more than a server is.
func TestObjects(t *testing.T) {
	data := pattern(1000)
	broken := errors.New("broken")
	body := func(v Version, r io.Reader) func(off, n int64) (Answer, error) {
		return func(off, n int64) (Answer, error) { return Answer{v, io.NopCloser(r)}, nil }
	}
	fails := func(err error) func(off, n int64) (Answer, error) {
		return func(int64, int64) (Answer, error) { return Answer{}, err }
	}
	o := &told{data: data}
	for _, tt := range []struct {
		name string
		next []func(off, n int64) (Answer, error)
		want error
		gets int // the first included
	}{
		{"right", []func(off, n int64) (Answer, error){o.right}, nil, 2},
		{"another size", []func(off, n int64) (Answer, error){body(Version{Size: 1001, Tag: "1", Strong: true}, bytes.NewReader(data))}, ErrChanged, 2},
		{"another tag", []func(off, n int64) (Answer, error){body(Version{Size: 1000, Tag: "2", Strong: true}, bytes.NewReader(data))}, ErrChanged, 2},
		{"a negative size", []func(off, n int64) (Answer, error){body(Version{Size: -1, Tag: "1", Strong: true}, bytes.NewReader(data))}, ErrAnswer, 2},
		{"a negative number of bytes", []func(off, n int64) (Answer, error){body(strong, lying(-1))}, ErrAnswer, 6},
		{"more bytes than there is room for", []func(off, n int64) (Answer, error){body(strong, lying(101))}, ErrAnswer, 6},
		{"no end", []func(off, n int64) (Answer, error){body(strong, io.MultiReader(bytes.NewReader(data[200:300]), lying(0)))}, nil, 2},
		{"a final error", []func(off, n int64) (Answer, error){fails(broken)}, broken, 2},
		{"a temporary error", []func(off, n int64) (Answer, error){fails(&Temporary{Err: broken}), o.right}, nil, 3},
		{"temporary errors", []func(off, n int64) (Answer, error){fails(&Temporary{Err: broken})}, broken, 6},
		{"a body that breaks", []func(off, n int64) (Answer, error){body(strong, iotest.ErrReader(broken)), o.right}, nil, 3},
		{"a body that ends", []func(off, n int64) (Answer, error){body(strong, bytes.NewReader(nil)), o.right}, nil, 3},
		{"a Close that refuses", []func(off, n int64) (Answer, error){func(off, n int64) (Answer, error) {
			return Answer{strong, closing{bytes.NewReader(make([]byte, n)), ErrChanged}}, nil
		}}, ErrChanged, 2},
		{"a Close that fails for now", []func(off, n int64) (Answer, error){func(off, n int64) (Answer, error) {
			return Answer{strong, closing{bytes.NewReader(make([]byte, n)), &Temporary{Err: broken}}}, nil
		}, o.right}, nil, 3},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := &told{data: data, next: tt.next}
			options := quick()
			options.Window = 100
			r, err := NewObjectReaderAt(t.Context(), o, options)
			expect.OK(t, err)
			r.Parsed()
			p := make([]byte, 100)
			if _, err := r.ReadAt(p, 200); !errors.Is(err, tt.want) || err == nil && !bytes.Equal(p, data[200:300]) {
				t.Errorf("%v, want %v", err, tt.want)
			}
			if o.n != tt.gets {
				t.Errorf("%d requests, want %d", o.n, tt.gets)
			}
		})
	}
	for name, v := range map[string]Version{"a negative size": {Size: -1, Tag: "1", Strong: true}, "no strong version": {Size: 1000, Tag: "1"}} {
		_, err := NewObjectReaderAt(t.Context(), first{v, data}, nil)
		if !errors.Is(err, ErrAnswer) && !errors.Is(err, ErrUnversioned) {
			t.Errorf("an object of %s: %v", name, err)
		}
	}
}

// first is an Object of some version.
type first struct {
	v    Version
	data []byte
}

func (f first) Get(context.Context, int64, int64, Version) (Answer, error) {
	return Answer{f.v, io.NopCloser(bytes.NewReader(f.data))}, nil
}

// TestContentRange: the field says precisely one range, or is nonsense.
func TestContentRange(t *testing.T) {
	for field, want := range map[string][3]int64{
		"bytes 0-0/1": {0, 0, 1}, "bytes 3-9/10": {3, 9, 10}, "Bytes 3-9/11": {3, 9, 11}, " bytes 0-5/6 ": {0, 5, 6},
		"bytes 0-9223372036854775806/9223372036854775807": {0, 1<<63 - 2, 1<<63 - 1},
	} {
		first, last, total, err := parseRange(field)
		if got := [3]int64{first, last, total}; err != nil || got != want {
			t.Errorf("%q: %v, %v, want %v", field, got, err, want)
		}
	}
	for _, field := range []string{
		"", "bytes", "bytes 0-5", "bytes 0-5/", "bytes 0/6", "bytes -5/6", "bytes 0-/6", "bytes x-5/6", "bytes 0-x/6", "bytes 0-5/x", "bytes 0-5/*",
		"bytes */6", "bytes 5-3/6", "bytes 0-6/6", "bytes 0-5/5", "rows 0-5/6", "0-5/6", "bytes=0-5/6", "bytes  0-5/6", "bytes 0 - 5/6", "bytes 0--5/6", "bytes +0-5/6",
		"bytes 0-5/6, bytes 0-5/6", "bytes 0-9223372036854775807/9223372036854775808",
	} {
		if first, last, total, err := parseRange(field); !errors.Is(err, ErrAnswer) {
			t.Errorf("%q: %d to %d of %d, %v, want ErrAnswer", field, first, last, total, err)
		}
	}
}

// TestNoSibling: other files of a model are next to it, where there is such a place.
func TestNoSibling(t *testing.T) {
	ctx := t.Context()
	alone, err := NewObjectReaderAt(ctx, &told{data: pattern(1000)}, &Options{Window: 1000})
	expect.OK(t, err)
	behind := reader(t, serve(t, pattern(1000), nil), nil)
	opaque := reader(t, serve(t, pattern(1000), nil), nil)
	opaque.object.(*httpObject).url = &url.URL{Scheme: "urn", Opaque: "model"}
	for name, r := range map[string]*Reader{"plain": alone, "up/../and/down": behind, "/rooted": behind, ".": behind, "..": behind, "": behind, "other": opaque} {
		if _, _, err := r.Sibling(name); !errors.Is(err, format.ErrUnsupported) {
			t.Errorf("%q: %v, want ErrUnsupported", name, err)
		}
	}
}
