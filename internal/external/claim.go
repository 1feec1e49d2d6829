package external

import (
	"path/filepath"
	"sync"
)

// claims has the names of data that is in its place for models that are not yet: how many writers
// of this program each is for. A name says what is in the file, so that another writer may find
// the same data to be that of an old model, and must not remove it. Held while data is removed, so that
// a model either names it by then or its writer still claims it. Other programs are not seen.
var claims struct {
	sync.Mutex
	names map[string]int
}

// claim keeps data of that location from being removed until release.
func (x *File) claim() {
	claims.Lock()
	defer claims.Unlock()
	if claims.names == nil {
		claims.names = make(map[string]int)
	}
	x.claimed = filepath.Base(x.Location)
	claims.names[x.claimed]++
}

// release ends that, with claims held.
func (x *File) release() {
	if x.claimed == "" {
		return
	}
	if claims.names[x.claimed]--; claims.names[x.claimed] == 0 {
		delete(claims.names, x.claimed)
	}
	x.claimed = ""
}
