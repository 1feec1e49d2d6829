package source

import (
	"fmt"

	"github.com/weightmap/weightmap/tensor"
)

// ID tells a file from all others, and from what it was before it was changed: device,
// inode, size and the time of the last change. The zero ID is that of no file.
type ID struct {
	dev, ino  uint64
	size      int64
	sec, nsec int64
	known     bool
}

// Size returns the number of bytes of the file.
func (id *ID) Size() int64 { return id.size }

// Known reports whether it is the ID of a file.
func (id *ID) Known() bool { return id.known }

// check refuses another file, as cut short if that is all that happened to it.
func (id *ID) check(now ID) error {
	switch {
	case !id.known || *id == now:
		return nil
	case id.dev == now.dev && id.ino == now.ino && now.size < id.size:
		return ErrCut
	}
	return ErrReplaced
}

// ErrReplaced is the error of a file that is not the one that was looked at before.
var ErrReplaced = fmt.Errorf("%w: the file was replaced or changed since the model was opened", tensor.ErrCorrupt)
