package tsr

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/catalog"
	"github.com/weightmap/weightmap/internal/mapped"
	"github.com/weightmap/weightmap/internal/wire"
	"github.com/weightmap/weightmap/tensor"
)

// part is one file of a directory, and the owner of its tensor's views. All
// parts share a gate, through which every use goes: closing it forbids the use
// of all files at once and waits for all that run.
type part struct {
	gate, file *mapped.Region
}

var _ tensor.Loader = (*part)(nil)

func (p *part) Enter() error { return p.gate.Enter() }

func (p *part) Leave() { p.gate.Leave() }

func (p *part) Lend() error {
	if err := p.gate.Lend(); err != nil {
		return err
	}
	return p.file.Lend()
}

func (p *part) Origin() (format, path string) { return p.file.Origin() }

// Load copies the data, for views that cannot alias them. It runs between Enter and
// Leave.
func (p *part) Load(info *tensor.Info) ([]byte, error) {
	b := tensor.AlignedBytes(int(info.Size))
	_, err := p.file.ReadAt(b, headerSize)
	return b, err
}

// openDir opens all .tsr files of a directory as one model.
func openDir(dir string, o *format.Options) (format.Model, error) {
	entries, err := os.ReadDir(dir) // sorted by name
	if err != nil {
		return nil, err
	}
	names, others, err := members(dir, entries)
	if err != nil {
		return nil, err
	}
	if len(names) == 0 {
		return nil, wire.Errorf(name, "directory", -1, format.ErrCorrupt, "no %s file in it", extension)
	}
	if len(names) > o.MaxTensors {
		return nil, wire.Errorf(name, "directory", -1, format.ErrLimit, "%d tensors, at most %d are allowed", len(names), o.MaxTensors)
	}
	gate := mapped.FromBytes(nil)
	gate.SetOrigin(name, dir)
	f := &File{Catalog: catalog.New(gate, name, "1", len(names), nameBytes(names), maxRank*len(names)), notes: note(others)}
	f.parts = make([]part, 0, len(names))
	f.Resolve = f.viewPart
	for _, n := range names {
		if err := f.openPart(filepath.Join(dir, n), o); err != nil {
			f.Close()
			return nil, err
		}
	}
	return f, nil
}

// members sorts out which entries are files of the model.
func members(dir string, entries []fs.DirEntry) (names, others []string, err error) {
	for _, e := range entries {
		mode := e.Type()
		if mode&fs.ModeSymlink != 0 && strings.HasSuffix(e.Name(), extension) {
			info, err := os.Stat(filepath.Join(dir, e.Name()))
			if err != nil {
				return nil, nil, err
			}
			mode = info.Mode()
		}
		if mode.IsRegular() && strings.HasSuffix(e.Name(), extension) {
			names = append(names, e.Name())
		} else {
			others = append(others, e.Name())
		}
	}
	return names, others, nil
}

func nameBytes(names []string) int {
	total := 0
	for _, n := range names {
		total += len(n) - len(extension)
	}
	return total
}

// note says which entries of a directory were ignored.
func note(others []string) []string {
	const most = 5
	if len(others) == 0 {
		return nil
	}
	text := fmt.Sprintf("ignored, not regular %s files: %q", extension, others[:min(most, len(others))])
	if more := len(others) - most; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return []string{text}
}

// openPart maps and checks one file and lists its tensor.
func (f *File) openPart(path string, o *format.Options) error {
	r, err := mapped.Open(path, mapped.Options{Debug: o.Debug})
	if err != nil {
		return err
	}
	r.SetOrigin(name, path)
	f.parts = append(f.parts, part{gate: f.Region(), file: r}) // from here on f.Close closes r
	err = r.Guard(func() error {
		h, err := readHeader(r)
		if err != nil {
			return err
		}
		tensorName, err := nameOf(path)
		if err != nil {
			return err
		}
		if !f.add(tensorName, &h, true) {
			return wire.Errorf(name, "file name", -1, format.ErrCorrupt, "tensor %q occurs twice", tensorName)
		}
		return nil
	})
	return inFile(err, path, "")
}

// viewPart returns the view of tensor i.
func (f *File) viewPart(i int) tensor.View {
	p := &f.parts[i]
	data := p.file.Bytes()
	if data != nil {
		data = data[headerSize:len(data):len(data)]
	}
	return tensor.NewView(f.Info(i), p, data)
}

// pinParts pins all files. It holds the gate meanwhile, so that Close, which
// passes the gate first, finds either all pins or none.
func (f *File) pinParts() (unpin func(), err error) {
	if err := f.Region().Enter(); err != nil {
		return nil, err
	}
	defer f.Region().Leave()
	unpins := make([]func(), 0, len(f.parts))
	unpin = func() {
		for _, u := range unpins {
			u()
		}
	}
	for i := range f.parts {
		u, err := f.parts[i].file.Pin()
		if err != nil {
			unpin()
			return nil, err
		}
		unpins = append(unpins, u)
	}
	return unpin, nil
}

// inFile completes an error about a file: its path, and the field it is about
// when none is known.
func inFile(err error, path, field string) error {
	var e *format.Error
	if !errors.As(err, &e) {
		return err
	}
	if e.Path == "" {
		e.Path = path
	}
	if e.Field == "" {
		e.Field = field
	}
	return err
}
