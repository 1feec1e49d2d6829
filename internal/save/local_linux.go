package save

import (
	"slices"

	"golang.org/x/sys/unix"
)

// locals are file systems whose files only this machine has. On others a lock may hold on this machine alone.
var locals = []int64{
	unix.EXT4_SUPER_MAGIC, unix.XFS_SUPER_MAGIC, unix.BTRFS_SUPER_MAGIC, unix.F2FS_SUPER_MAGIC, unix.TMPFS_MAGIC, unix.OVERLAYFS_SUPER_MAGIC,
	0x2fc12fc1, // ZFS
	0xca451a4e, // bcachefs
}

// isLocal reports whether only processes of this machine see an open file.
func isLocal(fd int) bool {
	var st unix.Statfs_t
	return unix.Fstatfs(fd, &st) == nil && slices.Contains(locals, int64(uint32(st.Type)))
}
