package source

import "syscall"

// descriptors is the directory whose entries name the open descriptors.
const descriptors = "/dev/fd/"

// idOf returns the ID for a file's status.
func idOf(st *syscall.Stat_t) ID {
	return ID{uint64(st.Dev), st.Ino, st.Size, st.Mtimespec.Sec, st.Mtimespec.Nsec, true}
}

// changed returns the ctime, which programs cannot set.
func changed(st *syscall.Stat_t) (sec, nsec int64) { return st.Ctimespec.Sec, st.Ctimespec.Nsec }
