package source

import (
	"fmt"

	"github.com/weightmap/weightmap/tensor"
)

// ID identifies a file and its state: device, inode, size and modification time. The zero ID is unknown.
type ID struct {
	dev, ino  uint64
	size      int64
	sec, nsec int64
	known     bool
}

// Size returns the size of the file in bytes.
func (id *ID) Size() int64 { return id.size }

// Known reports whether id identifies a file.
func (id *ID) Known() bool { return id.known }

// isFile reports whether id and now identify the same file in any state.
func (id *ID) isFile(now *ID) bool { return id.dev == now.dev && id.ino == now.ino }

// check returns ErrReplaced if now is another file or state, or ErrTruncated if the file was
// only cut short.
func (id *ID) check(now ID) error {
	switch {
	case !id.known || *id == now:
		return nil
	case id.isFile(&now) && now.size < id.size:
		return ErrCut
	}
	return ErrReplaced
}

// ErrReplaced means that a file is not the one that was seen before.
var ErrReplaced = fmt.Errorf("%w: the file was replaced or changed since the model was opened", tensor.ErrCorrupt)
