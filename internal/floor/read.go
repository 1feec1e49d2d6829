package floor

import (
	"encoding/binary"
	"io/fs"
	"path/filepath"
	"sync"
	"sync/atomic"
)

// sink keeps sums from being optimized away.
var sink atomic.Uint64

// Read reads every byte of data: it adds them up as 64-bit words.
func Read(data []byte) {
	var sum uint64
	for ; len(data) >= 32; data = data[32:] {
		w := data[:32]
		sum += binary.LittleEndian.Uint64(w) + binary.LittleEndian.Uint64(w[8:]) +
			binary.LittleEndian.Uint64(w[16:]) + binary.LittleEndian.Uint64(w[24:])
	}
	for _, x := range data {
		sum += uint64(x)
	}
	sink.Add(sum)
}

// piece is what a worker takes at a time: little enough that all end at once.
const piece = 1 << 20

// ReadOn reads every byte of data on so many goroutines.
func ReadOn(workers int, data []byte) {
	var next atomic.Int64
	var group sync.WaitGroup
	for range workers {
		group.Go(func() {
			for {
				at := next.Add(piece) - piece
				if at >= int64(len(data)) {
					return
				}
				Read(data[at:min(at+piece, int64(len(data)))])
			}
		})
	}
	group.Wait()
}

// Files lists the files at or below path.
func Files(path string) (paths []string, err error) {
	err = filepath.WalkDir(path, func(p string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			paths = append(paths, p)
		}
		return err
	})
	return paths, err
}
