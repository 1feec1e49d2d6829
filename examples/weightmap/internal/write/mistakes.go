package write

import (
	"flag"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/weightmap/weightmap/examples/cli"
	"github.com/weightmap/weightmap/examples/weightmap/internal/modelfile"
	"github.com/weightmap/weightmap/format"
)

// inOut returns IN and OUT. The error of another number of arguments has the command line that was
// meant, if there is one.
func (o *convertFlags) inOut(c *cli.Tool, f *flag.FlagSet,
	args []string) (in, out string, err error) {
	name := strings.TrimPrefix(c.Name, "weightmap ")
	line := modelfile.Split(f, args)
	in, out, rest, err := c.InOut(f, o.out)
	switch {
	case err != nil && o.to != "" && !slices.Contains(format.Names(), o.to):
		err = known(c, o.to, "")
		if modelfile.Exists(o.given) && len(line.Files) == 1 { // -to has taken IN for its value
			line = line.Without("to")
			line.Files = []string{o.given, line.Files[0]}
			err = cli.Advised(err, modelfile.TryLine(name, line))
		}
		return "", "", err
	case err != nil:
		if o.to != "" && len(line.Files) == 1 && modelfile.Exists(line.Files[0]) {
			line.Files = append(line.Files, free(withEnding(line.Files[0], o.to)))
			err = cli.Advised(err, modelfile.TryLine(name, line))
		}
		return "", "", err
	case len(rest) == 0:
		return in, out, nil
	case o.out != "":
		return "", "", c.Usagef("-o replaces OUT: name only IN besides")
	}
	err = c.Usagef("%s takes IN and OUT, not %d files", name, f.NArg())
	last := len(line.Files) - 1
	opens := modelfile.OpenerOf(line.Files[:last])
	if opens != "" {
		line.Files = []string{opens, line.Files[last]}
		err = cli.Advised(err, modelfile.TryLine(name, line))
	}
	return "", "", err
}

// withEnding returns the name of a file with the usual ending of a format.
func withEnding(path, kind string) string {
	path = strings.TrimRight(path, `/\`)
	if modelfile.FormatOf(path) != "" {
		path = strings.TrimSuffix(path, filepath.Ext(path))
	}
	return path + "." + kind
}

// free returns a name that no file has: this one, or one like it.
func free(path string) string {
	if modelfile.Exists(path) {
		return beside(path)
	}
	return path
}

// unknownEnding returns command lines for an OUT whose format its name does not tell.
func (o *convertFlags) unknownEnding(l modelfile.CommandLine, of string) []modelfile.CommandLine {
	kind := strings.ToLower(o.path)
	if slices.Contains(format.Writable(), kind) && len(l.Files) > 0 &&
		l.Files[0] != modelfile.StandardInput {
		return []modelfile.CommandLine{l.To(free(withEnding(l.Files[0], kind)))}
	}
	var list []modelfile.CommandLine
	for _, kind := range []string{of, "safetensors"} {
		if filepath.Ext(o.path) == "" {
			list = append(list, l.With("-to", kind))
			continue
		}
		other := l.To(strings.TrimSuffix(o.path, filepath.Ext(o.path)) + "." + kind)
		other.Makes = ViaOtherFormat
		list = append(list, other)
	}
	return list
}

// protectedElsewhere returns command lines that keep an option of the protection of OUT, in formats
// that have it.
func (o *convertFlags) protectedElsewhere(l modelfile.CommandLine) []modelfile.CommandLine {
	return []modelfile.CommandLine{o.elsewhere(l, "wia"), o.elsewhere(l, "mle")}
}

// compressionNamed returns the method that a name means, as people spell it.
func compressionNamed(c *cli.Tool, name string) (string, error) {
	others := map[string]string{"gz": "gzip", "zst": "zstd", "zstandard": "zstd", "br": "brotli"}
	method := strings.ToLower(name)
	if others[method] != "" {
		method = others[method]
	}
	if method != "" && !slices.Contains(Compressions, method) {
		hint := cli.DidYouMean(method, "", Compressions)
		return "", c.Usagef("-compress takes %s, not %q%s", strings.Join(Compressions, ", "), name, hint)
	}
	return method, nil
}

// formatNamed returns the format that a name means, as people spell it.
func formatNamed(name string) string {
	name = strings.ToLower(strings.TrimPrefix(name, "."))
	others := map[string]string{"pytorch": "torch", "pt": "torch", "pth": "torch", "numpy": "npz"}
	if others[name] != "" {
		return others[name]
	}
	return name
}

// pairMeant returns the arguments of set with KEY=VALUE for the one at index i, which has no equals
// sign, or nil: "KEY:VALUE", or KEY and VALUE apart.
func pairMeant(files []string, i int) []string {
	key, value, hasColon := strings.Cut(files[i], ":")
	fixed := slices.Clone(files)
	switch {
	case hasColon && key != "":
		fixed[i] = key + "=" + value
		return fixed
	case i+1 < len(files) && !isPair(files[i+1]):
		return slices.Replace(fixed, i, i+2, fmt.Sprintf("%s=%s", files[i], files[i+1]))
	}
	return nil
}

// filesFirst returns the arguments with those before that are not KEY=VALUE.
func filesFirst(files []string) []string {
	isFile := func(arg string) bool { return !isPair(arg) || modelfile.Exists(arg) }
	pairs := slices.DeleteFunc(slices.Clone(files), isFile)
	others := slices.DeleteFunc(slices.Clone(files), func(arg string) bool { return !isFile(arg) })
	return append(others, pairs...)
}
