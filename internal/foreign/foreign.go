// Package foreign identifies files that are not models, and models in other formats, by their first
// bytes.
package foreign

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/weightmap/weightmap/tensor"
)

// told is an error that says what the file is.
type told struct{ error }

func (e told) Unwrap() error { return e.error }

// Error returns an error that says what the file is instead of err, the reason why it does not
// open. It also wraps driver.ErrUnknownFormat, whose text is not printed.
func Error(what string, err error) error {
	return told{fmt.Errorf("this is %s%.0w%.0w", what, tensor.ErrUnknownFormat, err)}
}

// IsTold reports whether an error says what the file is.
func IsTold(err error) bool {
	var e told
	return errors.As(err, &e)
}

// Names lists the first ones of count names.
func Names(first []string, count int) string {
	if more := count - len(first); more > 0 {
		return fmt.Sprintf("%q and %d more", first, more)
	}
	return fmt.Sprintf("%q", first)
}

// Blamed reports whether err is an error in the content of a file.
func Blamed(err error) bool {
	return errors.Is(err, tensor.ErrMagic) || errors.Is(err, tensor.ErrUnknownFormat) || errors.Is(err, tensor.ErrCorrupt) ||
		errors.Is(err, tensor.ErrTruncated) || errors.Is(err, tensor.ErrUnsupported)
}

// packages lists the formats of this module, the packages that read them, and the endings of their
// files.
var packages = [...]struct {
	format, path string
	endings      []string
}{
	{"gguf", "format/gguf", []string{".gguf"}},
	{"mag", "mag", []string{".mag"}},
	{"mle", "mle", []string{".mle"}},
	{"mobi", "mobi", []string{".mobi"}},
	{"npy", "format/npy", []string{".npy"}},
	{"npz", "format/npy", []string{".npz"}},
	{"onnx", "format/onnx", []string{".onnx"}},
	{"safetensors", "format/safetensors", []string{".safetensors", ".safetensors.index.json"}},
	{"torch", "format/torch", []string{".pt", ".pth", ".ckpt", "pytorch_model.bin", ".bin.index.json"}},
	{"tsr", "tsr", []string{".tsr"}},
	{"wia", "wia", []string{".wia"}},
}

const module = "github.com/weightmap/weightmap/"

// NoDriver returns the error for a format of this module that the program does not link: it names
// the import. It is nil for names of other formats.
func NoDriver(format string) error {
	for _, p := range packages {
		if p.format == format {
			return fmt.Errorf("no driver for %s: import _ %q, or format/all%.0w", format, module+p.path, tensor.ErrUnknownFormat)
		}
	}
	return nil
}

// ByEnding returns the format of this module whose files usually have the name of path, or "".
func ByEnding(path string) string {
	path = strings.ToLower(path)
	for _, p := range packages {
		for _, ending := range p.endings {
			if strings.HasSuffix(path, ending) {
				return p.format
			}
		}
	}
	return ""
}

// zipName is the offset of the first entry's name in a ZIP archive. The length of the name is four
// bytes before it.
const zipName = 30

// isPickle reports whether a file begins like a pickle of the protocols 2 to 5. No opcode is 0.
func isPickle(head string) bool {
	return len(head) > 2 && head[0] == 0x80 && 2 <= head[1] && head[1] <= 5 && head[2] != 0
}

// leastZeros is how many zeros at the beginning of a file show that it was never filled.
const leastZeros = 16

// areZeros reports whether a file begins with zeros and nothing else.
func areZeros(head string) bool { return len(head) >= leastZeros && strings.Trim(head, "\x00") == "" }

// Format returns the format of this module that a file is in that begins with first, or "" unless
// it is certain.
func Format(first []byte) string {
	head := string(first)
	is := beginning(head)
	switch {
	case is == "" && (isPickle(head) || firstEntry(head) == "data.pkl"):
		return "torch"
	case NoDriver(is) == nil:
		return ""
	}
	return is
}

// Name describes a file that begins with first (driver.SniffLen bytes, or all of it). It returns ""
// unless it is certain.
func Name(first []byte, path string) string {
	is := ByName(path)
	if is != "" {
		return is
	}
	format := Format(first)
	if format != "" {
		return Model(format)
	}
	head := string(first)
	for _, is := range [...]string{beginning(head), answer(head), Entry(firstEntry(head))} {
		if is != "" {
			return is
		}
	}
	switch {
	case len(head) < 2:
	case areZeros(head):
		return zeros
	case isTensor(head):
		return proto
	case head[0] != 0x08 && head[0] != 0x0a: // a protobuf message of another schema has no magic either
	case strings.HasSuffix(path, ".pb"):
		return flow
	case strings.HasSuffix(path, ".mlmodel"):
		return coreML
	}
	return ""
}

// Guess is like Name, but less certain.
func Guess(head []byte) string {
	text := trimmed(string(head))
	switch {
	case strings.HasPrefix(text, "PK\x03\x04"):
		return "a ZIP archive" + unpack
	case len(head) < 8 || text == "" || !isText(text):
		return ""
	case strings.HasPrefix(text, "<?xml"):
		return xml
	case text[0] == '<' && len(text) > 1 && strings.IndexByte("!?hH", text[1]) >= 0:
		return "a web page, not a model, perhaps for a login: download the file with " + download
	case text[0] == '{' || text[0] == '[':
		return "a JSON file, such as a model's configuration" + other
	}
	return "plain text, such as a README" + other
}

// Model describes a file that is a model in a format.
func Model(format string) string { return "a model in the format " + format + ": open it as that" }

// trimmed returns text without a byte order mark and what is blank at its beginning.
func trimmed(text string) string {
	return strings.TrimLeftFunc(strings.TrimPrefix(text, "\ufeff"), func(r rune) bool { return r <= ' ' })
}

// firstEntry returns the name, without its directory, of the first entry of a ZIP archive, or "".
func firstEntry(head string) string {
	if len(head) <= zipName || !strings.HasPrefix(head, "PK\x03\x04") {
		return ""
	}
	return base(head[zipName:min(len(head), zipName+int(head[zipName-4]))])
}

func base(name string) string { return name[strings.LastIndexByte(name, '/')+1:] }

// isTensor reports whether a message begins like a TensorProto: with dims, a type, and another
// field.
func isTensor(b string) bool {
	for len(b) > 3 && b[0] == 0x08 {
		for b = b[1:]; len(b) > 3 && b[0] >= 0x80; {
			b = b[1:]
		}
		b = b[1:]
	}
	return len(b) >= 3 && b[0] == 0x10 && b[1] < 0x40 && strings.IndexByte("\"*2:BJRZbjp", b[2]) >= 0
}

// isText reports whether s is UTF-8 without control characters. The last character may be
// incomplete.
func isText(s string) bool {
	for i, r := range s {
		if r < ' ' && (r < '\t' || r > '\r') || r == 0x7f || r == utf8.RuneError && i+utf8.UTFMax <= len(s) {
			return false
		}
	}
	return true
}
