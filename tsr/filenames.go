package tsr

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"unicode"

	"github.com/weightmap/weightmap/tensor"
)

// maxFileName is the longest file name that common file systems take, in bytes.
const maxFileName = 255

// fileNames returns a file name for each tensor, and why it is not the tensor's name, or "".
// Tensors that keep their names choose first.
func fileNames(tensors []tensor.Info) (files, why []string) {
	files = make([]string, len(tensors))
	why = make([]string, len(tensors))
	taken := make(map[string]string, len(tensors))
	for i := range tensors {
		s := tensors[i].Name
		why[i] = unusable(s)
		other, twice := taken[fold(s)]
		if twice && why[i] == "" {
			why[i] = fmt.Sprintf("differs from tensor %q only in letter case", other)
		}
		if why[i] == "" {
			taken[fold(s)] = s
			files[i] = s + extension
		}
	}
	tried := map[string]int{} // by folded name: the suffixes tried so far
	for i := range tensors {
		if why[i] != "" {
			name := substitute(tensors[i].Name, taken, tried)
			taken[fold(name)] = name
			files[i] = name + extension
		}
	}
	return files, why
}

// substitute makes an unused file name from a tensor's name: it replaces
// illegal characters by "_", cuts the name to length, and appends a number if
// the result is taken.
func substitute(s string, taken map[string]string, tried map[string]int) string {
	const room = maxFileName - len(extension) - len("_1234567890")
	s = strings.NewReplacer("/", "_", `\`, "_").Replace(s)
	if len(s) > room {
		s = strings.ToValidUTF8(s[:room], "") // without a part of a character
	}
	if unusable(s) != "" {
		s = "_" + strings.Map(portable, s)
	}
	out := s
	folded := fold(s)
	for {
		_, twice := taken[fold(out)]
		if !twice {
			return out
		}
		tried[folded]++
		out = s + "_" + strconv.Itoa(tried[folded]+1)
	}
}

// portable returns r if every system allows it in a file name, else '_'.
func portable(r rune) rune {
	if unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_' || r == '-' {
		return r
	}
	return '_'
}

// unusable returns why a tensor's name cannot be a file name, "" if it can.
func unusable(s string) string {
	switch {
	case strings.ContainsAny(s, `/\`):
		return "contains a slash or backslash"
	case strings.ContainsFunc(s, unicode.IsControl):
		return "contains a control character"
	case s == "." || s == "..":
		return "means a directory"
	case len(s)+len(extension) > maxFileName:
		return fmt.Sprintf("longer than %d bytes", maxFileName-len(extension))
	case !filepath.IsLocal(s + extension):
		return "reserved on this system"
	}
	return ""
}

// fold maps names that differ only in case to one string.
func fold(s string) string { return strings.ToLower(strings.ToUpper(s)) }
