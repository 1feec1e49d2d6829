package modelfile

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/weightmap/weightmap/examples/cli"
)

// misnamed is the error of a file that is not there, with the one name that was probably meant.
type misnamed struct {
	error
	name, meant string
}

func (e *misnamed) Unwrap() error { return e.error }

// Corrected adds to the error of a misspelled name the command line with the right one. args are
// those of the command.
func Corrected(command string, args []string, err error) error {
	var m *misnamed
	if !errors.As(err, &m) || !slices.Contains(args, m.name) {
		return err
	}
	fixed := slices.Clone(args)
	for i, arg := range fixed {
		if arg == m.name {
			fixed[i] = m.meant
		}
	}
	return cli.Advised(err, TryWords(append([]string{command}, fixed...)))
}

// adviseMissing adds to the error of a missing file the names of similar files, or the address of a
// repository of the Hugging Face Hub that the name may stand for.
func adviseMissing(name string, err error) error {
	address := repositoryOf(name)
	if address != "" {
		err = fmt.Errorf("%w; %s opens it from the Hugging Face Hub", err, address)
		return &misnamed{err, name, address}
	}
	dir, base := filepath.Split(name)
	entries, dirErr := os.ReadDir(filepath.Join(dir, "."))
	if dirErr != nil || base == "" || strings.ContainsAny(base, "*?[") {
		return err
	}
	var names []string
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), ".") {
			names = append(names, dir+e.Name())
		}
	}
	near := cli.Nearest(name, names)
	if len(near) == 0 {
		return err
	}
	err = fmt.Errorf("%w; did you mean %s?", err, strings.Join(near, " or "))
	if len(near) > 1 {
		return err
	}
	return &misnamed{err, name, near[0]}
}

// repositoryOf returns the address of a repository of the Hub that a name stands for, which is
// ORG/NAME or an address without https://, or "". ORG is no directory here.
func repositoryOf(name string) string {
	name, isHub := strings.CutPrefix(name, "huggingface.co/")
	org, base, ok := strings.Cut(name, "/")
	isName := func(s string) bool {
		return s != "" && !strings.HasPrefix(s, ".") && strings.Trim(s, lettersAndDigits+"_.-") == ""
	}
	if !ok || !isName(org) || !isName(base) || !isHub && (FormatOf(base) != "" || Exists(org)) {
		return ""
	}
	return "hf://" + name
}
