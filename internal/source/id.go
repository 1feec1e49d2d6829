package source

import (
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/weightmap/weightmap/tensor"
)

// fileID identifies a file, in any state, while it exists. A mapping keeps its number from being
// reused.
type fileID struct{ dev, ino uint64 }

// ErrReplaced means that a file is not the one that was seen before.
var ErrReplaced = fmt.Errorf("%w: the file was replaced or changed since the model was opened", tensor.ErrCorrupt)

// Stamp is what identifies a state of a file: device, inode, size, mtime and ctime, as far as the
// system has them. The zero Stamp is that of no file.
type Stamp struct {
	id           fileID
	size         int64
	mtime, ctime time.Time
	info         fs.FileInfo // where the system has no inode numbers
}

// IsZero reports whether s is the zero Stamp.
func (s *Stamp) IsZero() bool {
	return s.mtime.IsZero() && s.ctime.IsZero() && s.size == 0 && s.id == fileID{}
}

// Size returns the size of the file.
func (s *Stamp) Size() int64 { return s.size }

// Same reports whether two stamps are those of one state of one file.
func (s *Stamp) Same(now *Stamp) bool {
	return s.sameFile(now) && s.sameContent(now) && s.ctime.Equal(now.ctime)
}

// SameContent is Same for a file that has stayed open. Its ctime may differ: it changes when the
// file is unlinked.
func (s *Stamp) SameContent(now *Stamp) bool { return s.sameFile(now) && s.sameContent(now) }

func (s *Stamp) sameContent(now *Stamp) bool { return s.size == now.size && s.mtime.Equal(now.mtime) }

func (s *Stamp) sameFile(now *Stamp) bool {
	if s.info != nil && now.info != nil && os.SameFile(s.info, s.info) && os.SameFile(now.info, now.info) {
		return os.SameFile(s.info, now.info)
	}
	return s.id == now.id
}

// Stamp returns the Stamp that a file had when it was opened, the zero Stamp for bytes and readers.
func (r *Region) Stamp() Stamp { return r.stamp }
