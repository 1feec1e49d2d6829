package main

import (
	"context"
	"io"
	"strings"

	"github.com/weightmap/weightmap/examples/cli"
)

// A command parses its own arguments.
type command struct {
	cli.Tool
	run func(ctx context.Context, t *cli.Tool, args []string, out, errs io.Writer) error
}

// name returns the command's name without that of the program.
func (c *command) name() string {
	_, name, _ := strings.Cut(c.Name, " ")
	return name
}
