package signing

import (
	"cmp"
	"fmt"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/format/plan"
)

// Options controls how files are listed and hashed. A nil *Options is the zero value.
type Options struct {
	// Bundle is the path that the result of Sign will be written to. That file is not part of the
	// model.
	Bundle string
	// Ignore lists files and directories to leave out: slash-separated paths relative to the model.
	// Verify also leaves out the paths that the bundle records; signers before version 1.1 record
	// none.
	Ignore []string
	// AllowUnsigned permits files that the bundle does not list. All listed files must still exist.
	AllowUnsigned bool
	// FollowLinks makes Sign follow symbolic links that stay within the model. Verify follows them
	// if the bundle allows it.
	FollowLinks bool
	// ShardSize makes Sign hash each file in ranges of this many bytes. If 0, it hashes whole
	// files.
	ShardSize int64
	// Workers is the number of goroutines that hash. If 0, it is the number of CPUs.
	Workers int
	// Progress is called with the number of bytes hashed.
	Progress plan.Progress
}

// checked returns a copy of o with clean paths in Ignore.
func (o *Options) checked() (c Options, err error) {
	c = *cmp.Or(o, &Options{})
	if c.Workers < 0 || c.ShardSize < 0 {
		return c, fmt.Errorf("%w: Workers %d, ShardSize %d", driver.ErrOption, c.Workers, c.ShardSize)
	}
	var ignore []string
	for _, name := range c.Ignore {
		if ignore, err = addIgnored(ignore, name); err != nil {
			return c, fmt.Errorf("%w: %w", driver.ErrOption, err)
		}
	}
	c.Ignore = ignore
	return c, nil
}
