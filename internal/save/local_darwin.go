package save

import "golang.org/x/sys/unix"

// isLocal reports whether only this machine can access an open file.
func isLocal(fd int) bool {
	var st unix.Statfs_t
	return unix.Fstatfs(fd, &st) == nil && st.Flags&unix.MNT_LOCAL != 0
}
