package external

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/cespare/xxhash/v2"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/save"
	"github.com/weightmap/weightmap/internal/wire"
	"github.com/weightmap/weightmap/tensor"
)

// Format is what this package must know about a format.
type Format struct {
	driver.Driver
	// Locations opens a model and returns the locations it names, unnormalized.
	Locations func(path string) ([]string, error)
}

// File is the external data file of a model that is being written. Its name contains a hash of its
// content, so it replaces no other data: the old model remains intact until the new model replaces
// it.
type File struct {
	// Location is the location to write into the model. Its length never changes; its text is final
	// when Finish has returned.
	Location string

	format Format
	model  string // path of the model
	below  string // directory of the data relative to the model's: "" or "a/b/"
	stem   string // common prefix of the names of all generations
	file   *save.File
	made   []string // directories that were created
	sums   map[int64]uint64
	end    int64
	place  string        // path of the file once it is claimed
	added  bool          // the file did not exist before
	former []os.FileInfo // files that the replaced model names
}

const (
	generation = 16 // hexadecimal digits
	ending     = ".data"
)

// NewFile determines the directory and the name of the file. The name begins with location, or by
// default with the name of the model. model is the path of the model.
func NewFile(f Format, location, model string) (*File, error) {
	if model == "" {
		return nil, fmt.Errorf("%w: only Create knows where the model will be, and a stream has no directory", driver.ErrUnsupported)
	}
	if location == "" {
		location = filepath.Base(model)
	}
	if err := CheckLocation([]byte(location)); err != nil {
		return nil, err
	}
	if !utf8.ValidString(location) || strings.HasSuffix(location, "/") {
		return nil, fmt.Errorf("%w: location %q is not UTF-8, or names a directory", tensor.ErrCorrupt, location)
	}
	x := &File{format: f, model: model, sums: make(map[int64]uint64)}
	x.below, x.stem = path.Split(path.Clean(location))
	// The name of the format separates the files from those of another format, whose models are not
	// searched.
	x.stem = save.Shorten(x.stem)
	if own := "." + f.Describe().Name; !strings.HasSuffix(x.stem, own) {
		x.stem += own
	}
	if x.below == "" && x.isGeneration(filepath.Base(model)) {
		return nil, fmt.Errorf("%w: location %q can be the model itself", tensor.ErrCorrupt, location)
	}
	x.name(0)
	return x, nil
}

// name sets the location for a generation.
func (x *File) name(hash uint64) {
	x.Location = fmt.Sprintf("%s%s.%0*x%s", x.below, x.stem, generation, hash, ending)
}

// isGeneration reports whether base is a file name that name returns.
func (x *File) isGeneration(base string) bool {
	s, ok := strings.CutPrefix(base, x.stem+".")
	s, end := strings.CutSuffix(s, ending)
	return ok && end && len(s) == generation && save.IsHex(s)
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
		if x.made, err = save.MakeDirs(x.at(x.below)); err != nil {
			return err
		}
		// The new file gets the permissions of the model that it replaces.
		old, err := os.Stat(x.model)
		if err != nil || !old.Mode().IsRegular() {
			old = nil
		}
		if x.file, err = save.CreateLike(filepath.Join(x.at(x.below), x.stem), old); err != nil {
			return err
		}
	}
	h := xxhash.New()
	err = in.CopyTo(x.file, off, io.MultiWriter(h, sum))
	x.sums[off] = h.Sum64()
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
	x.claim()
	file := x.file
	x.file = nil // it cleans up after itself
	if err := file.CommitAs(x.place, sync); err != nil {
		return err
	}
	x.added = !there
	x.former, _ = x.namedBy(x.model)
	if !sync {
		return nil
	}
	for _, dir := range slices.Backward(x.dirs()) {
		if err := save.SyncDir(dir); err != nil {
			return err
		}
	}
	return nil
}

// choose finds a name for the file. It uses an existing file's name only if the content is the
// same.
func (x *File) choose() (there bool, err error) {
	h := xxhash.New()
	for _, off := range slices.Sorted(maps.Keys(x.sums)) {
		_ = binary.Write(h, binary.LittleEndian, []uint64{uint64(off), x.sums[off]})
	}
	for {
		x.name(h.Sum64())
		there, same, err := x.holds(x.at(x.Location))
		if err != nil || !there || same {
			return there, err
		}
		_, _ = h.Write([]byte{0})
	}
}

// holds reports whether path exists, and whether it is a file with the same content.
func (x *File) holds(path string) (there, same bool, err error) {
	st, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, false, nil
	}
	if err != nil || !st.Mode().IsRegular() || st.Size() != x.end {
		return true, false, err
	}
	f, err := os.Open(path)
	if err != nil {
		return true, false, nil // cannot be read; leave it alone
	}
	defer f.Close()
	same, err = equal(f, x.file, x.end)
	return true, same, err
}

// dirs returns the directories from that of the model to that of the data.
func (x *File) dirs() []string {
	list := []string{filepath.Dir(x.model)}
	for i, c := range x.below {
		if c == '/' {
			list = append(list, x.at(x.below[:i]))
		}
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
		x.file = nil
	}
	claims.Lock()
	defer claims.Unlock()
	delete(claims.names, x)
	if placed, err := os.Lstat(x.place); err == nil && x.added {
		x.removeUnnamed([]os.FileInfo{placed}, false)
	}
	x.added = false
	for _, dir := range slices.Backward(x.made) {
		_ = save.Remove(dir) // fails unless empty
	}
	x.made = nil
}

// equal compares size bytes of two files.
func equal(a, b io.ReaderAt, size int64) (bool, error) {
	const piece = 256 << 10
	p, q := make([]byte, piece), make([]byte, piece)
	for off := int64(0); off < size; off += piece {
		n := min(piece, size-off)
		_, err := io.ReadFull(io.NewSectionReader(a, off, n), p[:n])
		if err == nil {
			_, err = io.ReadFull(io.NewSectionReader(b, off, n), q[:n])
		}
		if err != nil || !bytes.Equal(p[:n], q[:n]) {
			return false, err
		}
	}
	return true, nil
}
