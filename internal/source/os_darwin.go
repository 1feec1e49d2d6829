package source

import "syscall"

// descriptors is the directory whose entries name the open descriptors.
const descriptors = "/dev/fd/"

// look opens a file to look at it, and does not wait for the other end of a pipe.
const look = syscall.O_RDONLY | syscall.O_NONBLOCK

func willNeed([]byte, int, int) error { return nil }

func forget([]byte) error { return nil }

func resident([]byte, int, int) int64 { return -1 }
