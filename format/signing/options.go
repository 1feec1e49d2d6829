package signing

import (
	"fmt"

	"github.com/weightmap/weightmap/format/driver"
)

// Options says how files are listed and hashed. Nil and the zero value work.
type Options struct {
	// Bundle is where Sign's bundle will be: that file is not part of the model.
	Bundle string
	// Ignore leaves out files and directories, by their paths below the model with slashes.
	// Verify also leaves out what the bundle says; bundles before version 1.1 do not say it.
	Ignore []string
	// AllowUnsigned permits files that the bundle does not list. Those that it lists must be there all the same.
	AllowUnsigned bool
	// FollowLinks makes Sign follow symbolic links within the model. Verify does what the bundle says.
	FollowLinks bool
	// ShardSize makes Sign hash ranges of that many bytes, each by itself; 0 hashes files as a whole.
	ShardSize int64
	// Workers is how many goroutines hash; 0 means one a CPU.
	Workers int
	// Progress is told how many bytes have been hashed.
	Progress driver.Progress
}

// checked returns a copy, with the paths to ignore in their clean form.
func (o *Options) checked() (c Options, err error) {
	if o != nil {
		c = *o
	}
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
