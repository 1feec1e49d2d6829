package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/tensor"
)

// words replaces terms of the library and names of Go types in messages by those of the command
// line. Options have one dash, or Tool.Dash.
var words = strings.NewReplacer(
	"Options.MaxMemory", "-max-memory", "needs Compression", "needs -compress", "Options.Root names one", "-root DIR names a directory", "Options.Root", "-root",
	"see WriteOptions.ExternalFrom", "-external-from 1024 stores them in a separate file",
	", and not allowed here", ", unless -extended allows it",
	"a *rsa.PublicKey", "an RSA key", "a *ecdsa.PublicKey", "an ECDSA key", "a ed25519.PublicKey", "an Ed25519 key",
	"a *rsa.PrivateKey", "an RSA key", "a *ecdsa.PrivateKey", "an ECDSA key", "a ed25519.PrivateKey", "an Ed25519 key",
	"*rsa.PublicKey", "RSA key", "*ecdsa.PublicKey", "ECDSA key", "ed25519.PublicKey", "Ed25519 key",
	"*rsa.PrivateKey", "RSA key", "*ecdsa.PrivateKey", "ECDSA key", "ed25519.PrivateKey", "Ed25519 key",
	" is not a regular file: invalid argument", " is not a regular file",
	"json.RawMessage", "JSON", "[]interface {}", "list", "map[string]interface {}", "object", "format.Metadata", "object",
)

// options maps fields of the library's write options to command-line options.
var options = map[string]string{
	"Compression": "compress", "Level": "level", "Align": "align", "ExternalFrom": "external-from",
	"Extended": "extended", "MaxShard": "max-shard", "Key": "encrypt", "Signer": "sign", "Rename": "rename",
	"JoinScales": "join",
}

// Options returns the command-line options by library field.
func Options() map[string]string { return options }

// text returns the message of an error for the command line, without repeating a path.
func (t *Tool) text(err error) string {
	var located *tensor.Error
	errors.As(err, &located)
	if errors.Is(err, format.ErrOption) && located != nil && options[located.Field] != "" {
		// Leave out the format and the file: the error is in an option.
		text := strings.ReplaceAll(located.Err.Error(), format.ErrOption.Error(), t.dash()+options[located.Field])
		return words.Replace(text)
	}
	text := err.Error()
	if errors.Is(err, format.ErrOption) {
		text = strings.Replace(text, format.ErrOption.Error()+": ", "", 1)
	}
	var failed *fs.PathError
	if errors.As(err, &failed) {
		text = strings.Replace(text, failed.Error(), failure(failed, strings.Count(text, failed.Path) > 1), 1)
	}
	if located != nil && located.Path != "" {
		text = strings.Replace(text, located.Path+": "+located.Path, located.Path, 1)
	}
	text = words.Replace(text)
	if errors.Is(err, format.ErrLimit) {
		text = groupMemory(text)
	}
	if t.dash() != "-" {
		text = strings.ReplaceAll(text, " -max-memory", " "+t.dash()+"max-memory")
	}
	return text
}

// groupMemory groups the digits of how much memory is needed and allowed.
func groupMemory(text string) string {
	before, sizes, ok := strings.Cut(text, "needs ")
	if !ok {
		return text
	}
	group := func(number string) string { return Grouped(number) }
	return before + "needs " + regexp.MustCompile(`\b[0-9]{4,}\b`).ReplaceAllStringFunc(sizes, group)
}

// failure returns the reason why a system call failed. named says that the message already has the
// path. For a temporary file it names the directory.
func failure(e *fs.PathError, named bool) string {
	dir, base := filepath.Split(e.Path)
	switch {
	case strings.HasPrefix(base, ".") && strings.HasSuffix(base, ".tmp"):
		return fmt.Sprintf("cannot create a file in %s: %v", filepath.Join(dir, "."), e.Err)
	}
	reason := e.Err.Error()
	if errors.Is(e.Err, fs.ErrNotExist) && strings.ContainsAny(e.Path, "*?[") {
		reason = "no file matches the pattern"
	}
	if named {
		return reason
	}
	return e.Path + ": " + reason
}
