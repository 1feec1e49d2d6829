package disk

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/weightmap/weightmap/tensor"
)

// Resolve follows the symbolic links in the path of a file to write. The file may not exist, but a
// link must lead to something. A link into the blobs of a cache is refused, since other models may
// share them.
func Resolve(path string) (string, error) {
	const most = 16
	for try := 1; ; try++ {
		final, err := resolve(path)
		if !errors.Is(err, fs.ErrNotExist) || try == most || exists(path) {
			return final, err
		}
		// Another writer has removed the file meanwhile.
	}
}

func resolve(path string) (string, error) {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		dir, err := filepath.EvalSymlinks(filepath.Dir(path))
		if err != nil {
			return path, nil // creating the file fails
		}
		final := filepath.Join(dir, filepath.Base(path))
		return final, checkBlobs(path, final, false)
	}
	if err != nil {
		return "", err
	}
	final, err := filepath.EvalSymlinks(path)
	if err != nil {
		return "", err
	}
	return final, checkBlobs(path, final, info.Mode()&fs.ModeSymlink != 0)
}

// checkBlobs returns an error if path leads through a link to a file among the blobs of a cache.
func checkBlobs(path, final string, isLink bool) error {
	if !areBlobs(filepath.Dir(final)) {
		return nil
	}
	abs, err := filepath.Abs(path)
	if err == nil && !isLink && filepath.Base(filepath.Dir(abs)) == "blobs" {
		return nil // not through a link
	}
	return fmt.Errorf("%w: %s leads to a blob of a cache, which other models may share: write to another path, or remove the link first", tensor.ErrUnsupported, path)
}

// areBlobs reports whether a directory has the blobs of a cache: of the Hugging Face Hub, beside
// its snapshots, or of Ollama, beside its manifests.
func areBlobs(dir string) bool {
	if filepath.Base(dir) != "blobs" {
		return false
	}
	for _, sibling := range [...]string{"snapshots", "manifests"} {
		info, err := os.Stat(filepath.Join(dir, "..", sibling))
		if err == nil && info.IsDir() {
			return true
		}
	}
	return false
}
