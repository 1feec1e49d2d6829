package disk

import (
	"path/filepath"
	"sync"
	"time"
)

// A writer holds a lock while it publishes, so that no other writes parts at the same time that no
// model names in the end. Without the lock everything is right, but less tidy: so no writer waits for
// it long.
var patience = 10 * time.Second

// locked has the directories in which this process is publishing.
var locked = struct {
	sync.Mutex
	dirs map[string]bool
}{dirs: map[string]bool{}}

// lockDir waits until nobody else publishes in a directory.
func lockDir(dir string) (unlock func()) {
	nothing := func() {}
	if err := before(Call{Name: "lock", Path: dir}); err != nil {
		return nothing
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nothing
	}
	end := time.Now().Add(patience)
	if !wait(end, func() bool { return lockHere(abs) }) {
		return nothing
	}
	release := lockElsewhere(abs, end)
	return func() {
		release()
		locked.Lock()
		defer locked.Unlock()
		delete(locked.dirs, abs)
	}
}

// lockHere keeps other goroutines of this process out.
func lockHere(dir string) bool {
	locked.Lock()
	defer locked.Unlock()
	if locked.dirs[dir] {
		return false
	}
	locked.dirs[dir] = true
	return true
}

// wait tries until it succeeds or the time is over.
func wait(end time.Time, try func() bool) bool {
	for pause := 100 * time.Microsecond; !try(); pause = min(2*pause, 20*time.Millisecond) {
		if time.Now().After(end) {
			return false
		}
		time.Sleep(pause)
	}
	return true
}
