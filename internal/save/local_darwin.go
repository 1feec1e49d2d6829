package save

import "golang.org/x/sys/unix"

// isLocal reports whether only processes of this machine see an open file.
func isLocal(fd int) bool {
	var st unix.Statfs_t
	return unix.Fstatfs(fd, &st) == nil && st.Flags&unix.MNT_LOCAL != 0
}
