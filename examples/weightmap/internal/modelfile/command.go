package modelfile

import (
	"context"
	"io"
	"strings"

	"github.com/weightmap/weightmap/examples/cli"
)

// Command is a command of the tool. Run parses its own arguments.
type Command struct {
	cli.Tool
	Run func(ctx context.Context, t *cli.Tool, args []string, out, errs io.Writer) error
}

// Word returns the command's name without that of the program.
func (c *Command) Word() string {
	_, name, _ := strings.Cut(c.Name, " ")
	return name
}
