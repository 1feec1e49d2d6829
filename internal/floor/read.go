package floor

import (
	"context"
	"encoding/binary"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync/atomic"

	"github.com/weightmap/weightmap/internal/work"
)

// sink prevents the compiler from removing sums.
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

// piece is the number of bytes a worker takes at a time: few, so that all end at the same time.
const piece = 1 << 20

// ReadOn reads every byte of data with that number of goroutines.
func ReadOn(workers int, data []byte) {
	_ = work.Each(context.Background(), (len(data)+piece-1)/piece, workers, func(i int) error {
		Read(data[i*piece : min((i+1)*piece, len(data))])
		return nil
	})
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

// Evict writes files to disk and evicts them from the page cache. It returns an error if pages
// remain, as they do in a memory file system or when a process has mapped the file.
func Evict(paths ...string) error {
	for _, path := range paths {
		f, err := os.Open(path)
		if err == nil {
			err = errors.Join(f.Sync(), drop(f), f.Close())
		}
		if err != nil {
			return err
		}
	}
	return nil
}
