package format

import (
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/disk"
)

// externalIndex implements disk.Index for a model that names a file of external data.
type externalIndex struct {
	driver driver.Driver
	file   *driver.External
	enc    driver.Encoder // of the model; nil if it has no external data
}

// createExternal starts a model of a format with external data.
func (w *Writer) createExternal() error {
	x := &externalIndex{driver: w.driver, file: w.layout.External}
	model := w.path
	parts := 0
	if x.file.Size > 0 {
		parts = 1
	}
	m, err := disk.CreateModel(disk.Places{Dir: filepath.Dir(model), Opens: model, List: model, File: model, Look: x.look(model)}, x, parts)
	if err != nil {
		return err
	}
	m.NoSync = w.o.NoSync
	m.KeepOld = w.o.KeepOld
	w.commit = func() error {
		m.Contents = w.contents
		return m.Publish()
	}
	w.abort = m.Abort
	if parts > 0 {
		if err := w.createData(x, m); err != nil {
			return err
		}
	}
	return w.start(m.Opening(), w.layout.Ordered)
}

// createData starts the file of external data.
func (w *Writer) createData(x *externalIndex, m *disk.Model) error {
	f, err := m.CreatePart(0)
	if err != nil {
		return err
	}
	x.file.File = f
	w.hashes = true
	layout := *w.layout
	encode := layout.Encode
	layout.Encode = func(t driver.Target) (driver.Encoder, error) {
		enc, err := encode(t)
		if err != nil {
			return nil, err
		}
		x.enc = enc
		return &dataEncoder{Encoder: enc, data: f, size: x.file.Size}, nil
	}
	w.layout = &layout
	return nil
}

// dataEncoder completes the external data. The model is completed when the name of the data is
// known.
type dataEncoder struct {
	driver.Encoder
	data *disk.File
	size int64
}

// Finish implements driver.Encoder.
func (e *dataEncoder) Finish() error {
	if err := e.data.Truncate(e.size); err != nil {
		return err
	}
	return e.data.Complete()
}

// Close implements io.Closer.
func (e *dataEncoder) Close() error { return closeEncoder(e.Encoder) }

// look returns the directories with models that may name the data: those on the way to it, and
// where the model is if its path is a link.
func (x *externalIndex) look(model string) (dirs []string) {
	top := filepath.Dir(model)
	below, _ := path.Split(x.file.Stem)
	for dir := filepath.Join(top, filepath.FromSlash(below)); dir != top && len(dir) > len(top); dir = filepath.Dir(dir) {
		dirs = append(dirs, dir)
	}
	final, err := filepath.EvalSymlinks(model)
	if err != nil {
		return dirs
	}
	dir := filepath.Dir(final)
	if dir != top && !slices.Contains(dirs, dir) {
		dirs = append(dirs, dir)
	}
	return dirs
}

// Name implements disk.Index.
func (x *externalIndex) Name(_ int, generation string) string {
	if generation == "" {
		return ""
	}
	return x.file.Name(generation)
}

// Generation implements disk.Index.
func (x *externalIndex) Generation(name string) (string, bool) { return x.file.Generation(name) }

// Write implements disk.Index.
func (x *externalIndex) Write(_ *disk.File, names []string) error {
	if x.enc == nil {
		return nil // the model is complete
	}
	x.file.Location = names[0]
	return x.enc.Finish()
}

// Read implements disk.Index.
func (x *externalIndex) Read(f *os.File) ([]string, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	head := make([]byte, driver.SniffLen)
	n, err := f.ReadAt(head, 0)
	if err != nil && err != io.EOF {
		return nil, err
	}
	extension := strings.ToLower(filepath.Ext(f.Name()))
	if !slices.Contains(x.driver.Describe().Extensions, extension) && !x.driver.Detect(head[:n], info.Size()) {
		return nil, nil
	}
	files, err := x.file.Files(f.Name())
	if err != nil {
		return nil, err
	}
	var names []string
	for _, file := range files[1:] { // the first is the model
		name, err := filepath.Rel(filepath.Dir(f.Name()), file)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		names = append(names, filepath.ToSlash(name))
	}
	return names, nil
}

// MayList implements disk.Index.
func (x *externalIndex) MayList(name string) bool {
	_, stem := path.Split(x.file.Stem)
	data := driver.External{Stem: stem}
	_, isData := data.Generation(name)
	return !isData
}
