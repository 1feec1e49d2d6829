package modelfile

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/weightmap/weightmap/examples/cli"
	"github.com/weightmap/weightmap/format"
)

// Quoted returns words quoted for a shell. It returns "" if they contain a literal key, an address
// with a user or query, or characters that a terminal cannot show.
func Quoted(words []string) string {
	var list []string
	for i, w := range words {
		if ShownName(w) != w {
			return ""
		}
		if cli.Printable(w) != w || (strings.HasSuffix(words[max(i-1, 0)], "-key") ||
			strings.HasSuffix(words[max(i-1, 0)], "-encrypt")) && !strings.HasPrefix(w, "@") {
			return ""
		}
		name, value, inline := strings.Cut(strings.TrimLeft(w, "-"), "=")
		if inline && (name == "key" || name == "encrypt") && !strings.HasPrefix(value, "@") {
			return ""
		}
		if !isPlain(w) {
			w = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
		list = append(list, w)
	}
	return strings.Join(list, " ")
}

// isPlain reports whether a word needs no quotes in a shell.
func isPlain(word string) bool {
	return word != "" && strings.Trim(word, lettersAndDigits+"_@%+=:,./-") == ""
}

const lettersAndDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"

// TryWords returns advice to run weightmap with some arguments, or "" if they may be secret.
func TryWords(args []string) string {
	line := Quoted(append([]string{"weightmap"}, args...))
	if line == "" {
		return ""
	}
	return "try: " + line
}

func Exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// Hint adds advice if the key of an encrypted file is missing.
func Hint(err error, key []byte) error {
	if errors.Is(err, format.ErrKey) && key == nil {
		return fmt.Errorf("%w (use -key)", err)
	}
	return err
}
