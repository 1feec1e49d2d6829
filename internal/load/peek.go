package load

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/source"
	"github.com/weightmap/weightmap/internal/work"
	"github.com/weightmap/weightmap/tensor"
)

// batch is the number of files that a goroutine reads at a time.
const batch = 64

// spaceBytes is the approximate memory of a space.
const spaceBytes = 256

// directory returns the directory as a file, which stays open while parsing. Listing a file
// opened by os.Root would stat all entries.
func (s *spaces) directory() (*os.File, error) {
	if s.dir == "" {
		return nil, errNoDir
	}
	if s.list == nil {
		f, err := os.Open(itself(s.dir))
		if err != nil {
			return nil, err
		}
		s.list = f
	}
	return s.list, nil
}

// isEntry reports whether name is an entry of the directory itself. On Windows, names without
// a separator may lead elsewhere.
func isEntry(name string) bool {
	return name != "" && name != "." && name != ".." && strings.IndexByte(name, '/') < 0 && strings.IndexByte(name, '\\') < 0 &&
		(runtime.GOOS != "windows" || filepath.IsLocal(name))
}

// Peek implements driver.Dir.
func (s *spaces) Peek(names []string, n int) ([]driver.Peek, error) {
	if s.frozen {
		return nil, errFrozen
	}
	if _, err := s.directory(); err != nil {
		return nil, err
	}
	if err := s.m.c.Options.Memory.Reserve(int64(len(names)) * spaceBytes); err != nil {
		return nil, &tensor.Error{Format: s.m.desc.Name, Path: s.dir, Field: "directory", Offset: -1, Err: err}
	}
	s.later()
	heads, files := make([]driver.Peek, len(names)), make([]file, len(names))
	buf := make([]byte, n*len(names))
	err := work.Each(context.Background(), (len(names)+batch-1)/batch, 0, func(k int) error {
		for i := k * batch; i < min(len(names), (k+1)*batch); i++ {
			files[i].name, files[i].later = names[i], (*file).mapLater
			s.peek(&files[i], &heads[i], buf[i*n:(i+1)*n:(i+1)*n])
		}
		return nil
	})
	s.files = slices.Grow(s.files, len(files))
	for i := range files {
		s.files = append(s.files, &files[i])
		files[i].Model, files[i].number = s.m, driver.Space(len(s.files))
		heads[i].Space = files[i].number
		if full := s.structure.add(heads[i].Space, heads[i].Head, 0); full != nil {
			return nil, full
		}
	}
	return heads, err
}

// peek reads the beginning of a file into p.
func (s *spaces) peek(f *file, h *driver.Peek, p []byte) {
	if source.Peeks && isEntry(f.name) {
		var n int
		n, f.id, h.Err = source.Peek(s.list, f.name, p)
		h.Head, h.Size, f.size = p[:n], f.id.Size(), f.id.Size()
		if !errors.Is(h.Err, source.ErrNotRegular) {
			return
		}
	}
	// A link may lead elsewhere.
	root, err := openRoot(s.dir)
	if err != nil {
		h.Err = err
		return
	}
	defer root.Close()
	h.Err = s.useBelow(root, f.name, func(file *os.File, info os.FileInfo) error {
		n, err := file.ReadAt(p, 0)
		f.was, h.Head, h.Size, f.size = info, p[:n], info.Size(), info.Size()
		if errors.Is(err, io.EOF) {
			err = nil
		}
		return err
	})
}
