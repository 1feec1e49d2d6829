// Command readers opens model files with other Go libraries. Package internal/peers/judge runs it as
// "readers NAME" and writes paths to its standard input. It uses every library as documented, and
// reads the data of every tensor.
package main

import (
	"fmt"
	"log"
	"os"
	"runtime/debug"

	"github.com/weightmap/weightmap/internal/peers/peer"
)

// reader is a function of a library that opens a file and reads its tensors.
type reader struct {
	module string
	read   func(path string) ([]peer.Tensor, error)
}

var readers = map[string]reader{
	"nlpodyssey/safetensors": {"github.com/nlpodyssey/safetensors", readSafetensors},
	"gguf-parser-go":         {"github.com/gpustack/gguf-parser-go", readParser},
	"ollama fs/gguf":         {"github.com/ollama/ollama", readOllama},
	"ollama fs/ggml":         {"github.com/ollama/ollama", readGGML},
	"npyio":                  {"github.com/sbinet/npyio", readNpy},
	"npyio/npz":              {"github.com/sbinet/npyio", readNpz},
}

func main() {
	log.SetFlags(0)
	if len(os.Args) != 2 {
		log.Fatal("usage: readers NAME")
	}
	r, ok := readers[os.Args[1]]
	if !ok {
		log.Fatalf("no reader %q", os.Args[1])
	}
	if err := peer.Serve(version(r.module), r.read); err != nil {
		log.Fatal(err)
	}
}

// version returns the version of a module linked into this program.
func version(module string) string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, d := range info.Deps {
			if d.Path == module {
				return d.Version
			}
		}
	}
	return "unknown"
}

// section reads a tensor of n bytes at offset in the data that begins at start, as a careful user
// would of a library that only lists offsets.
func section(f *os.File, start, offset, n uint64) ([]byte, error) {
	s, err := f.Stat()
	if err != nil {
		return nil, err
	}
	size := uint64(s.Size())
	if start > size || offset > size-start || n > size-start-offset {
		return nil, fmt.Errorf("%d bytes at %d of a file of %d", n, offset, size)
	}
	b := make([]byte, n)
	_, err = f.ReadAt(b, int64(start+offset))
	return b, err
}
