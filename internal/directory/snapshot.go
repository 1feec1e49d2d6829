package directory

import (
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/tensor"
)

// MostRevision is the largest size of a file in refs. It has a commit.
const MostRevision = 256

// Snapshot returns the snapshot of a repository of a Hugging Face cache to open: the one that
// refs/main has, or the only one. main is the content of refs/main, "" if it is not there.
func Snapshot(main string, snapshots []driver.DirEntry) (string, error) {
	var names []string
	for _, e := range snapshots {
		if e.Dir {
			names = append(names, e.Name)
		}
	}
	main = strings.TrimSpace(main)
	switch {
	case main == "" && len(names) == 1:
		return names[0], nil
	case main == "" && len(names) == 0:
		return "", &Undecided{text: "the repository has no snapshot: download it, with hf download ORG/NAME", err: tensor.ErrUnknownFormat}
	case main == "":
		text := fmt.Sprintf("the repository has several snapshots, and refs/main does not name one: %s; "+
			"open one by its name, such as snapshots/%s", list(names), names[0])
		for i, name := range names {
			names[i] = "snapshots/" + name
		}
		return "", &Undecided{names, text, tensor.ErrUnsupported}
	case !fs.ValidPath(main) || main == "." || strings.ContainsAny(main, `/\`):
		return "", fmt.Errorf("%w: refs/main has %.200q, which is no name of a snapshot", tensor.ErrCorrupt, main)
	case !slices.Contains(names, main):
		return "", fmt.Errorf("%w: refs/main names the snapshot %.200q, which is not there: download it again, with hf download ORG/NAME, or open one of %s", fs.ErrNotExist, main, list(names))
	}
	return main, nil
}
