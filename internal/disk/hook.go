package disk

import "sync/atomic"

// Call is a change to the disk. Each one asks the hook first, so that a test can list them, let one
// fail, or end the process there.
type Call struct {
	// Name is "create", "mkdir", "inherit" (owner and permissions), "write", "truncate", "touch"
	// (times), "sync", "close", "link", "rename", "sync directory" or "remove"; "mark" (the
	// creation of a mark); or "lock" or "wait" for another writer, without which a writer goes on.
	Name string
	// Path is the file or directory that changes. Of a link and a rename it is the new name.
	Path string
	// From is the old name of a link or a rename.
	From string
}

var hook atomic.Pointer[func(Call) error]

// SetHook sets a function that is called before each change. An error it returns replaces the
// change. Nil removes the hook. It is for tests.
func SetHook(f func(Call) error) {
	if f == nil {
		hook.Store(nil)
		return
	}
	hook.Store(&f)
}

func before(c Call) error {
	f := hook.Load()
	if f == nil {
		return nil
	}
	return (*f)(c)
}
