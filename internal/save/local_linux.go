package save

import (
	"slices"

	"golang.org/x/sys/unix"
)

// locals lists the file systems that only this machine can access. Elsewhere a lock may be invisible
// to other machines.
var locals = []int64{
	unix.EXT4_SUPER_MAGIC, unix.XFS_SUPER_MAGIC, unix.BTRFS_SUPER_MAGIC, unix.F2FS_SUPER_MAGIC, unix.TMPFS_MAGIC, unix.OVERLAYFS_SUPER_MAGIC,
	0x2fc12fc1, // ZFS
	0xca451a4e, // bcachefs
}

// isLocal reports whether only this machine can access an open file.
func isLocal(fd int) bool {
	var st unix.Statfs_t
	return unix.Fstatfs(fd, &st) == nil && slices.Contains(locals, int64(uint32(st.Type)))
}
