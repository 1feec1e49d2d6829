package external

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/cespare/xxhash/v2"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/disk"
	"github.com/weightmap/weightmap/internal/wire"
	"github.com/weightmap/weightmap/tensor"
)

// File is the external data file of a model that is being written. Its name contains a hash of its
// content, so it replaces no other data: the old model remains intact until the new model replaces
// it.
type File struct {
	// Location is the location to write into the model. Its length never changes; its text is final
	// when Finish has returned.
	Location string

	format driver.Driver
	files  func(path string) ([]string, error)
	model  string // path of the model
	below  string // directory of the data relative to the model's: "" or "a/b/"
	stem   string // common prefix of the names of all generations
	file   *disk.File
	made   []string // directories that were created
	hash   uint64   // of the content
	end    int64
	added  bool          // the file did not exist before
	former []os.FileInfo // files that the replaced model names
}

const generation = 16 // hexadecimal digits
const ending = ".data"

// NewFile determines the directory and the name of the file. The name begins with location, or by
// default with the name of the model. model is the path of the model; files opens a model of the format
// and returns the paths of its files.
func NewFile(d driver.Driver, files func(path string) ([]string, error), location, model string) (*File, error) {
	if model == "" {
		return nil, fmt.Errorf("%w: a stream has no directory, use Create", driver.ErrUnsupported)
	}
	location = cmp.Or(location, filepath.Base(model))
	if err := CheckLocation([]byte(location)); err != nil {
		return nil, err
	}
	if !utf8.ValidString(location) || strings.HasSuffix(location, "/") {
		return nil, fmt.Errorf("%w: location %q is not UTF-8, or names a directory", tensor.ErrCorrupt, location)
	}
	x := &File{format: d, files: files, model: model}
	x.below, x.stem = path.Split(path.Clean(location))
	// The name of the format separates the files from those of another format, whose models are not
	// searched.
	own := "." + d.Describe().Name
	x.stem = strings.TrimSuffix(disk.Shorten(x.stem), own) + own
	x.name()
	if x.below == "" && x.isGeneration(filepath.Base(model)) {
		return nil, fmt.Errorf("%w: location %q can be the model itself", tensor.ErrCorrupt, location)
	}
	return x, nil
}

// name sets the location for the content.
func (x *File) name() {
	x.Location = fmt.Sprintf("%s%s.%0*x%s", x.below, x.stem, generation, x.hash, ending)
}

// isGeneration reports whether base is a file name that name returns.
func (x *File) isGeneration(base string) bool {
	s, ok := strings.CutPrefix(base, x.stem+".")
	s, end := strings.CutSuffix(s, ending)
	return ok && end && len(s) == generation && disk.IsHex(s)
}

// at returns the path of a location.
func (x *File) at(location string) string {
	return filepath.Join(filepath.Dir(x.model), filepath.FromSlash(location))
}

// Reserve allocates a range of the file for a tensor, at a multiple of align.
func (x *File) Reserve(size, align int64) int64 {
	off := wire.AlignUp(x.end, align)
	x.end = off + size
	return off
}

// Write writes a tensor at the offset that Reserve returned, and also to sum.
func (x *File) Write(off int64, in driver.Input, sum io.Writer) (err error) {
	if x.file == nil {
		if x.made, err = disk.MakeDirs(x.at(x.below)); err != nil {
			return err
		}
		old, _ := os.Stat(x.model) // the new file gets its permissions
		if x.file, err = disk.CreateLike(filepath.Join(x.at(x.below), x.stem), old); err != nil {
			return err
		}
	}
	h := xxhash.New()
	err = in.CopyTo(x.file, off, io.MultiWriter(h, sum))
	_ = binary.Write(h, binary.LittleEndian, off)
	x.hash += h.Sum64() // in any order
	return err
}

// Finish renames the file into place. Write the model next and call Committed, or call Abort. A nil
// File has no data.
func (x *File) Finish(sync bool) error {
	if x == nil || x.file == nil {
		return nil
	}
	if err := x.file.Truncate(x.end); err != nil {
		return err
	}
	there, err := x.choose()
	if err != nil {
		return err
	}
	claiming.Lock()
	claims[x] = path.Base(x.Location)
	claiming.Unlock()
	x.file.NoSync = !sync
	if err := x.file.PublishAs(x.at(x.Location)); err != nil {
		return err
	}
	x.added = !there
	x.former, _ = x.namedBy(x.model)
	if !sync {
		return nil
	}
	for _, dir := range x.dirs() {
		if err := disk.SyncDir(dir); err != nil {
			return err
		}
	}
	return nil
}

// choose finds a name for the file, and reports whether there is a file with it. It uses the name of
// an existing file only if the content is the same.
func (x *File) choose() (there bool, err error) {
	for ; ; x.hash++ {
		x.name()
		same, err := x.equals(x.at(x.Location))
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return false, nil
		case err != nil || same:
			return true, err
		}
	}
}

// equals reports whether the file at path has the same content.
func (x *File) equals(path string) (bool, error) {
	st, err := os.Lstat(path)
	if err != nil || !st.Mode().IsRegular() || st.Size() != x.end {
		return false, err
	}
	f, err := os.Open(path)
	if err != nil {
		return false, nil // cannot be read; leave it alone
	}
	defer f.Close()
	other, err := digest(f, x.end)
	own, errOwn := digest(x.file, x.end)
	return bytes.Equal(own, other), cmp.Or(err, errOwn)
}

// digest returns the SHA-256 of the first size bytes.
func digest(r io.ReaderAt, size int64) ([]byte, error) {
	h := sha256.New()
	_, err := io.Copy(h, io.NewSectionReader(r, 0, size))
	return h.Sum(nil), err
}

// dirs returns the directories that may have models which name the data: from that of the data to that
// of the model, and where the model is a link to.
func (x *File) dirs() (list []string) {
	top := filepath.Dir(x.model)
	for dir := x.at(x.below); dir != top; dir = filepath.Dir(dir) {
		list = append(list, dir)
	}
	list = append(list, top)
	real, err := disk.Resolve(x.model)
	if dir := filepath.Dir(real); err == nil && !slices.Contains(list, dir) {
		list = append(list, dir)
	}
	return list
}

// Abort removes the file unless a model or another writer in this process needs it.
func (x *File) Abort() {
	if x == nil {
		return
	}
	if x.file != nil {
		x.file.Abort()
	}
	claiming.Lock()
	defer claiming.Unlock()
	delete(claims, x)
	if placed, err := os.Lstat(x.at(x.Location)); err == nil && x.added {
		x.removeUnnamed([]os.FileInfo{placed}, false)
	}
	for _, dir := range slices.Backward(x.made) {
		_ = disk.Remove(dir) // fails unless empty
	}
}
