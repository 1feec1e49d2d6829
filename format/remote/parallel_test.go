package remote

import (
	"context"
	"io"
	"net/http"
	"reflect"
	"regexp"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/expect"
)

// wrapper has the methods that format.OpenReaderAt documents, and no others.
type wrapper struct{ r *Reader }

func (w wrapper) ReadAt(p []byte, off int64) (int, error)         { return w.r.ReadAt(p, off) }
func (w wrapper) Path() string                                    { return w.r.Path() }
func (w wrapper) Proven() int64                                   { return w.r.Proven() }
func (w wrapper) Parsed()                                         { w.r.Parsed() }
func (w wrapper) Cancel()                                         { w.r.Cancel() }
func (w wrapper) Sibling(name string) (io.ReaderAt, int64, error) { return w.r.Sibling(name) }
func (w wrapper) Parallel() int                                   { return w.r.Parallel() }
func (w wrapper) ReadAtContext(ctx context.Context, p []byte, off int64) (int, error) {
	return w.r.ReadAtContext(ctx, p, off)
}

// TestWrapped is ../shared/cases/core/wrapped_reader.go.txt: the documentation of format.OpenReaderAt lists each method that a
// wrapper needs, to be as fast as what it wraps.
func TestWrapped(t *testing.T) {
	doc := expect.Read(t, "../open.go")
	listed := regexp.MustCompile(`(?m)^//\t([A-Z][A-Za-z]*)\(`)
	var names []string
	for _, m := range listed.FindAllSubmatch(doc, -1) {
		names = append(names, string(m[1]))
	}
	typ := reflect.TypeFor[wrapper]()
	var has []string
	for i := range typ.NumMethod() {
		if name := typ.Method(i).Name; name != "ReadAt" {
			has = append(has, name)
		}
	}
	slices.Sort(names)
	expect.Equal(t, has, names)
	// Each method of a Reader that the library looks for is one of them.
	looked := regexp.MustCompile(`interface\{ ([A-Z][A-Za-z]*)\(`)
	for _, file := range []string{"../../internal/source/read.go", "../../internal/source/open.go", "../../internal/source/head.go", "../../internal/source/follow.go", "../../internal/source/lifetime.go"} {
		for _, m := range looked.FindAllSubmatch(expect.Read(t, file), -1) {
			if !slices.Contains(names, string(m[1])) {
				t.Errorf("%s looks for %s, which is not documented", file, m[1])
			}
		}
	}
	parallelLoad(t, func(ctx context.Context, address string, o *Options) (*format.Model, error) {
		r, err := NewReaderAt(ctx, address, o)
		if err != nil {
			return nil, err
		}
		return format.OpenReaderAt(wrapper{r}, r.Size(), nil)
	})
}

// TestParallel: Load has as many requests under way as Options.Parallel says, and no more.
func TestParallel(t *testing.T) { parallelLoad(t, Open) }

func parallelLoad(t *testing.T, open func(context.Context, string, *Options) (*format.Model, error)) {
	const parallel = 3
	var loading atomic.Bool
	var inside atomic.Int64
	var full sync.Once
	together := make(chan struct{})
	s := serve(t, written(t, "mag", 16, 4<<10), func(w http.ResponseWriter, r *http.Request, _ int) bool {
		if !loading.Load() {
			return false
		}
		defer inside.Add(-1)
		switch now := inside.Add(1); {
		case now == parallel:
			full.Do(func() { time.AfterFunc(10*time.Millisecond, func() { close(together) }) })
		case now > parallel:
			t.Errorf("%d requests at a time", now)
		}
		select {
		case <-together:
		case <-r.Context().Done():
		}
		return false
	})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	o := quick()
	o.Parallel = parallel
	m, err := open(ctx, s.URL, o)
	expect.OK(t, err)
	defer m.Close()
	var requests []format.Request
	for i := 0; i < m.Len(); i += 2 {
		requests = append(requests, format.Request{Tensor: m.At(i).Name(), Bytes: make([]byte, m.At(i).Info().Size)})
	}
	loading.Store(true)
	expect.OK(t, m.Load(ctx, requests, nil))
}
