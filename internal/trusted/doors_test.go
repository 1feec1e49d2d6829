package trusted

import (
	"bytes"
	"context"
	"crypto"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/gguf"
	"github.com/weightmap/weightmap/format/live"
	"github.com/weightmap/weightmap/format/npy"
	"github.com/weightmap/weightmap/format/onnx"
	"github.com/weightmap/weightmap/format/remote"
	"github.com/weightmap/weightmap/format/safetensors"
	"github.com/weightmap/weightmap/format/signing"
	"github.com/weightmap/weightmap/format/torch"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/mag"
	"github.com/weightmap/weightmap/mle"
	"github.com/weightmap/weightmap/mobi"
	"github.com/weightmap/weightmap/tsr"
	"github.com/weightmap/weightmap/wia"
)

// cell is one opening of a model whose files change.
type cell struct {
	kind   *kind
	dir    string
	bundle string
	ranges bool // the ranges of the files are signed
	others bool // the file of the change is not signed
	check  format.Check
	own    []byte // the file that opens the model, for doors that take bytes

	change  change
	replace bool // by a new file, not in place
	at      int  // the number of events until the change; negative for none

	mu     sync.Mutex
	events int  // so far
	done   bool // the change was made
}

// path returns the path that opens the model.
func (c *cell) path() string { return filepath.Join(c.dir, c.kind.open) }

// event counts an event, and makes the change if it is time. Events are: a file was hashed, a reader or a server was read.
func (c *cell) event() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.events == c.at && !c.done {
		c.tamper()
	}
	c.events++
}

// tamper makes the change.
func (c *cell) tamper() {
	c.done = true
	if c.own != nil && c.change.file == c.kind.open {
		c.own[c.change.off] = c.change.old ^ 1
	}
	c.write(c.change.old ^ 1)
}

// restore makes the file what it was, and ends the cell. A file that was replaced is a new one.
func (c *cell) restore() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.done {
		c.write(c.change.old)
	}
	c.at = -1 // a server may have an event after that
}

// write writes the changed byte. A panic ends the test: files are as the test made them.
func (c *cell) write(b byte) {
	name := filepath.Join(c.dir, filepath.FromSlash(c.change.file))
	if c.replace {
		text, err := os.ReadFile(name)
		must(err)
		text[c.change.off] = b
		must(os.WriteFile(name+".new", text, 0o666))
		must(os.Rename(name+".new", name))
		return
	}
	f, err := os.OpenFile(name, os.O_WRONLY, 0)
	must(err)
	_, err = f.WriteAt([]byte{b}, c.change.off)
	must(err)
	must(f.Close())
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

// options are the options for opening the model.
func (c *cell) options() *format.Options {
	o := &format.Options{Check: c.check, Workers: 1, Progress: func(done, total int64, _ string) {
		if done == total {
			c.event()
		}
	}}
	o.Trusted = c.kind.key
	if o.Trusted == nil {
		bundle := c.bundle
		switch {
		case c.others:
			bundle += without(c.change.file)
		case c.ranges:
			bundle += ".ranges"
		}
		o.Trusted = &signing.Policy{Trust: &signing.Trust{Keys: []crypto.PublicKey{bundleKey.Public()}}, Bundle: bundle}
	}
	return o
}

// inDir are options for a model that has no path.
func (c *cell) inDir() *format.Options {
	o := c.options()
	o.Dir = c.dir
	o.Format = expect.Must(format.ByName(c.kind.format)) // an index of shards without a name may be of several
	return o
}

// private are options for a model that no other process can change.
func (c *cell) private() *format.Options {
	o := c.options()
	o.Private = true
	return o
}

// door is a way to open a model.
type door struct {
	name    string
	api     []string // the functions of internal/api/api.txt that it is about
	ranges  bool     // with signed ranges
	private bool     // with Options.Private
	wraps   bool     // its files come through a door that has a row: some kinds are enough
	needs   func(k *kind) bool
	open    func(c *cell) (*format.Model, error)
}

// opens reports whether a door opens models of a kind.
func (d *door) opens(k *kind) bool { return d.needs == nil || d.needs(k) }

func isFile(k *kind) bool { return k.open != "" }
func isDirectory(k *kind) bool {
	return k.open == "" || k.bytes || k.o.MaxShard > 0 || k.write != nil && !k.one
}

// isFound reports whether a file without a name finds the other files of its model.
func isFound(k *kind) bool { return isFile(k) && k.name != "gguf, split" }

// isAlone reports whether a model is one file, which has no place for others.
func isAlone(k *kind) bool { return isFile(k) && (len(k.files) == 1 || k.one) }

// doors are all ways to open a model under Options.Trusted.
var doors = []door{
	{name: "Open", api: []string{"format Open"}, open: func(c *cell) (*format.Model, error) { return format.Open(c.path(), c.options()) }},
	{name: "Open, private", private: true, open: func(c *cell) (*format.Model, error) { return format.Open(c.path(), c.private()) }},
	{name: "OpenFS, private", wraps: true, private: true, open: func(c *cell) (*format.Model, error) {
		return format.OpenFS(&readers{os.DirFS(c.dir), c}, path.Join(".", c.kind.open), c.private())
	}},
	{name: "OpenReaderAt, private", wraps: true, private: true, needs: isFile, open: func(c *cell) (*format.Model, error) {
		r := c.reader(c.kind.open)
		return format.OpenReaderAt(r, r.size, c.private())
	}},
	{name: "Open, ranges", ranges: true, open: func(c *cell) (*format.Model, error) { return format.Open(c.path(), c.options()) }},
	{name: "Open, directory", needs: isDirectory, open: func(c *cell) (*format.Model, error) { return format.Open(c.dir, c.options()) }},
	{name: "OpenFS", api: []string{"format OpenFS"}, open: func(c *cell) (*format.Model, error) {
		return format.OpenFS(os.DirFS(filepath.Dir(c.dir)), path.Join("model", c.kind.open), c.options())
	}},
	{name: "OpenFS, directory", needs: isDirectory, open: func(c *cell) (*format.Model, error) {
		return format.OpenFS(os.DirFS(c.dir), ".", c.options())
	}},
	{name: "OpenFS, readers", open: func(c *cell) (*format.Model, error) {
		return format.OpenFS(&readers{os.DirFS(c.dir), c}, path.Join(".", c.kind.open), c.options())
	}},
	{name: "OpenFS, streams", open: func(c *cell) (*format.Model, error) {
		return format.OpenFS(streams{os.DirFS(c.dir)}, path.Join(".", c.kind.open), c.options())
	}},
	{name: "OpenBytes", api: []string{"format OpenBytes"}, needs: isFound, open: func(c *cell) (*format.Model, error) {
		c.readOwn()
		return format.OpenBytes(c.own, c.inDir())
	}},
	{name: "OpenBytes without a directory", needs: isAlone, open: func(c *cell) (*format.Model, error) {
		c.readOwn()
		return format.OpenBytes(c.own, c.options())
	}},
	{name: "OpenFile", api: []string{"format OpenFile"}, needs: isFile, open: func(c *cell) (*format.Model, error) {
		f, err := os.Open(c.path())
		must(err)
		defer f.Close()
		return format.OpenFile(f, 0, -1, c.options())
	}},
	{name: "OpenFile with a size", wraps: true, needs: isFile, open: func(c *cell) (*format.Model, error) {
		f, err := os.Open(c.path())
		must(err)
		defer f.Close()
		info, err := f.Stat()
		must(err)
		return format.OpenFile(f, 0, info.Size(), c.inDir())
	}},
	{name: "OpenReaderAt", api: []string{"format OpenReaderAt"}, needs: isFile, open: func(c *cell) (*format.Model, error) {
		r := c.reader(c.kind.open)
		return format.OpenReaderAt(r, r.size, c.options())
	}},
	{name: "OpenReaderAt, ranges", ranges: true, needs: isFile, open: func(c *cell) (*format.Model, error) {
		r := c.reader(c.kind.open)
		return format.OpenReaderAt(r, r.size, c.options())
	}},
	{name: "OpenReaderAt in a directory", wraps: true, needs: isFound, open: func(c *cell) (*format.Model, error) {
		r := c.reader(c.kind.open)
		return format.OpenReaderAt(struct{ io.ReaderAt }{r}, r.size, c.inDir())
	}},
	{name: "OpenReaderAt with a cache", wraps: true, needs: isFile, open: func(c *cell) (*format.Model, error) {
		r, o := c.reader(c.kind.open), c.options()
		o.CacheBytes = 8 * elems
		return format.OpenReaderAt(r, r.size, o)
	}},
	{name: "remote.Open", api: []string{"format/remote Open"}, needs: isFile, open: (*cell).remote},
	{name: "remote.Open, ranges", ranges: true, needs: isFile, open: (*cell).remote},
	{name: "Open of the format", api: []string{
		"mag Open", "mle Open", "mobi Open", "tsr Open", "wia Open", "format/gguf Open", "format/npy Open", "format/onnx Open", "format/safetensors Open", "format/torch Open",
	}, open: func(c *cell) (*format.Model, error) { return c.kind.ownOpen(c.path(), c.options()) }},
	{name: "live.Open", wraps: true, api: []string{"format/live Open", "format/live (*Handle).Acquire", "format/live (*Lease).Model"}, open: func(c *cell) (*format.Model, error) {
		h, err := live.Open(context.Background(), c.path(), &live.Options{Open: c.options()})
		if err != nil {
			return nil, err
		}
		l, err := h.Acquire()
		return l.Model(), err // the lease keeps the model open until the test closes it
	}},
}

// ownOpen opens a model with the function of its format.
func (k *kind) ownOpen(path string, o *format.Options) (*format.Model, error) {
	switch k.format {
	case "mag":
		f, err := mag.Open(path, o)
		return modelOf(f, err, func() *format.Model { return f.Model })
	case "mle":
		f, err := mle.Open(path, o)
		return modelOf(f, err, func() *format.Model { return f.Model })
	case "mobi":
		f, err := mobi.Open(path, o)
		return modelOf(f, err, func() *format.Model { return f.Model })
	case "tsr":
		f, err := tsr.Open(path, o)
		return modelOf(f, err, func() *format.Model { return f.Model })
	case "wia":
		f, err := wia.Open(path, o)
		return modelOf(f, err, func() *format.Model { return f.Model })
	case "gguf":
		f, err := gguf.Open(path, o)
		return modelOf(f, err, func() *format.Model { return f.Model })
	case "onnx":
		f, err := onnx.Open(path, o)
		return modelOf(f, err, func() *format.Model { return f.Model })
	case "torch":
		return torch.Open(path, o)
	case "safetensors":
		return safetensors.Open(path, o)
	}
	return npy.Open(path, o)
}

// modelOf returns the model of a File, unless opening it failed.
func modelOf[F any](_ *F, err error, model func() *format.Model) (*format.Model, error) {
	if err != nil {
		return nil, err
	}
	return model(), nil
}

// readOwn reads the file that opens the model.
func (c *cell) readOwn() {
	b, err := os.ReadFile(c.path())
	must(err)
	c.own = b
}

// reader is a reader of a file of the model, and opens the others. Each read is an event.
type reader struct {
	c    *cell
	path string
	size int64
}

func (c *cell) reader(name string) reader {
	r := reader{c, filepath.Join(c.dir, filepath.FromSlash(name)), 0}
	info, err := os.Stat(r.path)
	must(err)
	r.size = info.Size()
	return r
}

// ReadAt implements io.ReaderAt.
func (r reader) ReadAt(p []byte, off int64) (int, error) {
	f, err := os.Open(r.path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	n, err := f.ReadAt(p, off)
	r.c.event()
	return n, err
}

// ReaderInfo implements format.DescribedReader.
func (r reader) ReaderInfo() format.ReaderInfo { return format.ReaderInfo{Path: r.path} }

// Sibling implements format.SiblingOpener.
func (r reader) Sibling(name string) (io.ReaderAt, int64, error) {
	_, err := os.Stat(filepath.Join(r.c.dir, filepath.FromSlash(name)))
	if err != nil {
		return nil, 0, err
	}
	other := r.c.reader(name)
	return other, other.size, nil
}

// readers is a file system of files that are read on demand.
type readers struct {
	fs.FS
	c *cell
}

// Open implements fs.FS.
func (s *readers) Open(name string) (fs.File, error) {
	f, err := s.FS.Open(name)
	if err != nil {
		return nil, err
	}
	if _, ok := f.(fs.ReadDirFile); ok && isDir(f) {
		return f, nil
	}
	return &readerFile{f, f.(io.ReaderAt), s.c}, nil
}

func isDir(f fs.File) bool {
	info, err := f.Stat()
	return err == nil && info.IsDir()
}

// readerFile is a file that is read on demand. Each read is an event.
type readerFile struct {
	fs.File
	r io.ReaderAt
	c *cell
}

// ReadAt implements io.ReaderAt.
func (f *readerFile) ReadAt(p []byte, off int64) (int, error) {
	n, err := f.r.ReadAt(p, off)
	f.c.event()
	return n, err
}

// streams is a file system of files that can only be read from the beginning.
type streams struct{ fs.FS }

// Open implements fs.FS.
func (s streams) Open(name string) (fs.File, error) {
	f, err := s.FS.Open(name)
	if err != nil || isDir(f) {
		return f, err
	}
	return struct{ fs.File }{f}, nil
}

// serve serves the files of cells, as they are when they are requested, as one version. Each request is an event.
func serve(t *testing.T) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		w.Header().Set("ETag", `"1"`)
		c := served.Load()
		b, err := os.ReadFile(filepath.Join(c.dir, filepath.Base(q.URL.Path)))
		if err != nil {
			http.NotFound(w, q)
			return
		}
		c.event()
		http.ServeContent(w, q, "", time.Time{}, bytes.NewReader(b))
	}))
	t.Cleanup(server.Close)
	serverURL = server.URL
}

var (
	serverURL string
	served    atomic.Pointer[cell] // the cell whose files are served
)

// remote opens the model over HTTP.
func (c *cell) remote() (*format.Model, error) {
	served.Store(c)
	return remote.Open(context.Background(), serverURL+"/"+c.kind.open, &remote.Options{Open: c.options()})
}

// unsigned are the functions that return a model, a lease or a view and have no row, and why.
var unsigned = map[string]string{
	"format/mobile Open":                 "mobile.Options has no Trusted",
	"format/mobile OpenBytes":            "mobile.Options has no Trusted",
	"format/mobile OpenDescriptor":       "mobile.Options has no Trusted",
	"format/mobile (*Model).Tensor":      "of a model of mobile",
	"format/mobile (*Model).TensorNamed": "of a model of mobile",
	"tensor FromBytes":                   "of the program's own bytes",
	"format OpenHead":                    "refused under trust (TestOpenHeadRefused)",
	"tensor FromInfo":                    "of the program's own bytes",
	"tensor FromReaderAt":                "of the program's own reader",
	"tensor Of":                          "of the program's own numbers",
}

// TestRows: each function of the public packages that returns a model, a lease or a view is in a row of the table, and the rows name
// only functions that there are.
func TestRows(t *testing.T) {
	rows := make(map[string]bool)
	for _, d := range doors {
		for _, name := range d.api {
			rows[name] = true
		}
	}
	for _, u := range uses {
		for _, name := range u.api {
			rows[name] = true
		}
	}
	for _, name := range reloads {
		rows[name] = true
	}
	all := exported(t)
	for _, f := range all {
		switch _, isListed := unsigned[f.name]; {
		case isListed && rows[f.name]:
			t.Errorf("%s has a row and a reason for none", f.name)
		case f.isDoor() && !rows[f.name] && !isListed:
			t.Errorf("%s is not in the table of trust: %s", f.name, f.line)
		case f.takesModel() && !rows[f.name] && !isListed && !slices.Contains(noBytes, f.name):
			t.Errorf("%s is neither in the table of trust nor among the functions that return no bytes: %s", f.name, f.line)
		}
	}
	isThere := func(name string) bool {
		return slices.ContainsFunc(all, func(f function) bool { return f.name == name })
	}
	for name := range rows {
		if !isThere(name) {
			t.Errorf("%s has a row, and there is no such function", name)
		}
	}
	for name := range unsigned {
		if !isThere(name) {
			t.Errorf("there is no function %s", name)
		}
	}
	for _, name := range noBytes {
		if !isThere(name) {
			t.Errorf("there is no function %s", name)
		}
	}
	if bytes.Contains(expect.Read(t, apiFile), []byte("format/mobile, type Options struct, field Trusted")) {
		t.Error("mobile.Options has Trusted: its functions need rows")
	}
}

// reloads are the functions of TestReload.
var reloads = []string{"format/live (*Handle).Reload", "format/live (*Handle).ForceReload", "format/live (*Handle).Do"}

// noBytes are functions of models, leases and views that return no bytes of a model.
var noBytes = []string{
	"format (*Model).Close", "format (*Model).Evict", "format (*Model).Files", "format (*Model).Format", "format (*Model).Len", "format (*Model).NeedsKey",
	"format ShardRequests", "format (*Model).Path", "format (*Model).Pin", "format (*Model).Prefetch", "format (*Model).Stats",
	"format/live (*Handle).Close", "format/live (*Handle).Path", "format/live (*Handle).Stats", "format/live (*Handle).Watch",
	"format/live (*Lease).Generation", "format/live (*Lease).Intact", "format/live (*Lease).Release", "format/live (*Lease).Value",
	"tensor (View).DType", "tensor (View).Elems", "tensor (View).Evict", "tensor (View).Info", "tensor (View).Lock", "tensor (View).Name",
	"tensor (View).Prefetch", "tensor (View).Resident", "tensor (View).Shape", "tensor (View).Size", "tensor (View).ZeroCopy",
	"format/onnx (*File).Strings", // it parses a Clone
}
