//go:build !unix

package save

import (
	"io/fs"
	"os"
)

// SyncDir does nothing: directories cannot be synced here.
func SyncDir(dir string) error { return before(CallSyncDir, dir) }

// keepOwner does nothing: a file's owner is not a number here.
func keepOwner(*os.File, fs.FileInfo) (group bool) { return true }
