package source

// descriptors is the directory whose entries name the open descriptors.
const descriptors = "/dev/fd/"

func willNeed([]byte, int, int) error { return nil }

func forget([]byte) error { return nil }

func resident([]byte, int, int) int64 { return -1 }
