package source

import (
	"syscall"
	"time"
)

// descriptors is the directory whose entries name the open descriptors.
const descriptors = "/dev/fd/"

// modified returns the mtime.
func modified(st *syscall.Stat_t) time.Time { return time.Unix(st.Mtimespec.Unix()) }

// changed returns the ctime, which programs cannot set.
func changed(st *syscall.Stat_t) time.Time { return time.Unix(st.Ctimespec.Unix()) }
