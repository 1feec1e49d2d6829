package wia

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/sink"
	"github.com/weightmap/weightmap/internal/wire"
	"github.com/weightmap/weightmap/tensor"
)

// externalFile is the file of a model's external data, while it is written.
type externalFile struct {
	location string
	path     string
	file     *sink.File // made when the first tensor comes
	end      int64
	done     bool
}

// newExternalFile decides where it will be. model is the path of the model.
func newExternalFile(location, model string) (*externalFile, error) {
	if model == "" {
		return nil, fmt.Errorf("%w: only Create knows where the model will be", tensor.ErrLimit)
	}
	dir, base := filepath.Split(model)
	x := &externalFile{location: location}
	if x.location == "" {
		x.location = base + ".data"
	}
	if err := checkLocation([]byte(x.location)); err != nil {
		return nil, err
	}
	if !utf8.ValidString(x.location) {
		return nil, fmt.Errorf("%w: location %q is not UTF-8", tensor.ErrCorrupt, x.location)
	}
	if strings.HasSuffix(x.location, "/") {
		return nil, fmt.Errorf("%w: location %q names a directory", tensor.ErrCorrupt, x.location)
	}
	x.path = filepath.Join(dir, filepath.FromSlash(x.location))
	if x.path == filepath.Join(dir, base) {
		return nil, fmt.Errorf("%w: location %q is the model itself", tensor.ErrCorrupt, x.location)
	}
	return x, nil
}

// reserve gives a tensor its range of the file. The checksum has its final
// length from the start, so that records have theirs.
func (x *externalFile) reserve(size int64) *ExternalData {
	off, _ := wire.AlignUp(x.end, alignment)
	x.end = off + size
	return &ExternalData{Location: x.location, Offset: off, Length: size, Checksum: checksumPrefix + strings.Repeat("0", 2*sha256.Size)}
}

// write stores a tensor and completes its record.
func (x *externalFile) write(e *ExternalData, in driver.Input) error {
	if x.file == nil {
		if err := os.MkdirAll(filepath.Dir(x.path), 0o777); err != nil {
			return err
		}
		f, err := sink.CreateFile(x.path)
		if err != nil {
			return err
		}
		x.file = f
	}
	h := sha256.New()
	if err := in.CopyTo(x.file, e.Offset, io.Writer(h)); err != nil {
		return err
	}
	e.Checksum = checksumPrefix + hex.EncodeToString(h.Sum(nil))
	return nil
}

// commit makes the file appear.
func (x *externalFile) commit(sync bool) error {
	x.done = true
	if err := x.file.Truncate(x.end); err != nil {
		x.file.Abort()
		return err
	}
	return x.file.Commit(sync)
}

// abort removes the file unless it has appeared.
func (x *externalFile) abort() {
	if x.file != nil && !x.done {
		x.done = true
		x.file.Abort()
	}
}
