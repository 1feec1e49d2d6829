package source

import "syscall"

// descriptors is the directory whose entries name the open descriptors.
const descriptors = "/dev/fd/"

// changed returns the ctime, which programs cannot set.
func changed(st *syscall.Stat_t) (sec, nsec int64) { return st.Ctimespec.Sec, st.Ctimespec.Nsec }
