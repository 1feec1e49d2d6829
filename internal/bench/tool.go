package bench

import (
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/weightmap/weightmap/internal/floor"
)

// toolVerdicts measures whole processes of the command-line tool, relative to one that prints its
// version.
func toolVerdicts() []verdict {
	return []verdict{{name: "inspect/mag/10000", limit: 4, figure: func(b *testing.B) float64 {
		tool, err := buildTool()
		if err != nil {
			b.Skip("the tool cannot be built here: ", err)
		}
		path := File(b, "mag", Models[2]).Path
		process := func(args ...string) func() error {
			return func() error { return exec.Command(tool, args...).Run() }
		}
		return floor.Pairs(b, floor.Rounds, process("inspect", path), process("version"))
	}}}
}

// buildTool builds the command-line tool and returns its path.
var buildTool = sync.OnceValues(func() (string, error) {
	path := filepath.Join(temp, "weightmap")
	return path, exec.Command("go", "build", "-o", path, "github.com/weightmap/weightmap/examples/weightmap").Run()
})
