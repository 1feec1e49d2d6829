package source

import (
	"fmt"

	"github.com/weightmap/weightmap/tensor"
)

// fileID identifies a file, in any state, while it exists. A mapping keeps its number from being reused.
type fileID struct{ dev, ino uint64 }

// ErrReplaced means that a file is not the one that was seen before.
var ErrReplaced = fmt.Errorf("%w: the file was replaced or changed since the model was opened", tensor.ErrCorrupt)
