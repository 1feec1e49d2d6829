package format_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/weightmap/weightmap/format"
	"golang.org/x/sys/unix"
)

// A model that is larger than the memory would drive other files out of the system's cache. This
// program drops each tensor from the cache once it was used.
func ExampleModel_Stream_dropBehind() {
	path := examplePath()
	defer os.RemoveAll(filepath.Dir(path))
	if err := os.WriteFile(path, file("mag"), 0o600); err != nil {
		log.Fatal(err)
	}
	m, err := format.Open(path, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()
	f, err := os.Open(path)
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()
	err = m.Stream(context.Background(), nil, nil, func(p format.Piece) error {
		info := m.At(p.Request).Info()
		fmt.Println(info.Name, p.Data)
		if !p.Last {
			return nil
		}
		return unix.Fadvise(int(f.Fd()), info.Offset, info.Size, unix.FADV_DONTNEED)
	})
	if err != nil {
		log.Fatal(err)
	}

	// Output:
	// fc.weight [0 0 128 63 0 0 0 64 0 0 64 64 0 0 128 64]
	// fc.bias [0 0 0 63 0 0 128 191]
}
