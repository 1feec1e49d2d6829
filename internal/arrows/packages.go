package main

import (
	"fmt"
	"os/exec"
	"strings"
)

// packages returns which packages of the module import which.
func packages() (map[string][]string, error) {
	out, err := exec.Command("go", "list", "-f", "{{.Module.Path}} {{.ImportPath}} {{join .Imports \" \"}}", "./...").Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	uses := map[string][]string{}
	for line := range strings.Lines(string(out)) {
		fields := strings.Fields(line)
		module := fields[0]
		var list []string
		for _, path := range fields[2:] {
			name, isOwn := strings.CutPrefix(path, module+"/")
			if isOwn {
				list = append(list, name)
			}
		}
		name := strings.TrimPrefix(fields[1], module+"/")
		uses[name] = list
	}
	return uses, nil
}
