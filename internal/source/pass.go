package source

import (
	"runtime"

	"github.com/weightmap/weightmap/internal/pass"
)

var (
	_ pass.File     = (*Region)(nil)
	_ pass.Mapping  = (*Region)(nil)
	_ pass.Reopened = (*Region)(nil)
)

// Memory implements pass.File.
func (r *Region) Memory() []byte {
	if r.src != nil || r.seal != nil {
		return nil
	}
	return r.Bytes()
}

// Mapping implements pass.File. It is nil while the file is parsed, which reads the open file.
func (r *Region) Mapping() pass.Mapping {
	if r.ra == nil || r.src != nil {
		return nil
	}
	return r
}

// Kind implements pass.File.
func (r *Region) Kind() pass.Kind {
	k := pass.Kind{IsReader: r.IsReader()}
	if r.seal != nil {
		k.Align = PieceSize
	}
	return k
}

// Touched implements pass.Mapping. It looks at a few pages, on Linux and Android.
func (r *Region) Touched(off, n int64) (mapped, of int) {
	return countTouched(r.mem, r.skip+int(off), r.skip+int(off+n))
}

// populateOver is the size below which Populate does nothing, since a page fault maps as much.
const populateOver = 64 << 10

// Populate maps a range of the window, and reads it if it is not in memory, with a system call: a page fault would
// occupy a processor while the disk reads. It is a hint. Call it between Enter and Leave. It does nothing for
// heap memory and readers, nor on systems other than Linux and Android.
func (r *Region) Populate(off, n int64) {
	if r.ra != nil && n >= populateOver {
		populate(r.mem, r.skip+int(off), r.skip+int(off+n))
		runtime.Gosched() // a short system call keeps its processor and would delay timers
	}
}
