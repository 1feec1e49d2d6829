// Package foreign identifies files that are not models, and models in other formats, by their first
// bytes.
package foreign

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/tensor"
)

// Error returns an error that says what the file is instead of err, the reason why it does not
// open. It also wraps driver.ErrUnknownFormat, whose text is not printed.
func Error(what string, err error) error {
	return fmt.Errorf("this is %s%.0w%.0w", what, driver.ErrUnknownFormat, err)
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
	return errors.Is(err, driver.ErrMagic) || errors.Is(err, driver.ErrUnknownFormat) || errors.Is(err, tensor.ErrCorrupt) ||
		errors.Is(err, tensor.ErrTruncated) || errors.Is(err, driver.ErrUnsupported)
}

const (
	unpack = ": unpack it first"
	other  = ": open the model that belongs to it"
	oldTar = `a tar file of PyTorch 0.1: if you trust it, which may run a program, convert it with python -c "import torch; torch.save(torch.load('IN', weights_only=False), 'OUT.pt')"`
	export = `a program of torch.export: save its tensors with python -c "import torch; torch.save(dict(torch.export.load('IN.pt2').state_dict), 'OUT.pt')"`
	hdf5   = "an HDF5 file, as Keras writes them: load it with h5py, and save it with safetensors.numpy.save_file"
	flow   = "a TensorFlow or TensorFlow Lite model: convert it with python -m tf2onnx.convert --saved-model DIR, --graphdef FILE or --tflite FILE, and --output OUT.onnx"
	coreML = "a Core ML model: export the model it was made from to ONNX or safetensors"
	ggml   = "an old GGML file, from before GGUF: convert it with llama.cpp's convert_llama_ggml_to_gguf.py"
	proto  = "an ONNX tensor, not a model: write it with numpy.save(OUT, onnx.numpy_helper.to_array(onnx.load_tensor(FILE)))"
)

// torch is the magic number of files that torch.save wrote before it wrote archives.
const torch = "l\xfc\x9cF\xf9 j\xa8P\x19."

// packages lists the formats of this module, the packages that read them, and the endings of their files.
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

// NoDriver returns the error for a format of this module that the program does not link: it names the import. It is
// nil for names of other formats.
func NoDriver(format string) error {
	for _, p := range packages {
		if p.format == format {
			return fmt.Errorf("no driver for %s: import _ %q, or format/all%.0w", format, module+p.path, driver.ErrUnknownFormat)
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

// kinds lists the bytes that identify a kind of file and their offset. One-word descriptions are
// formats.
var kinds = [...]struct {
	at    int
	magic string
	is    string
}{
	{5, "\x00\x00\x00{", "safetensors"}, // the header length may look like a pickle
	{0, "GGUF", "gguf"},
	{0, "\x93NUMPY", "npy"},
	{0, "TSR!", "tsr"},
	{0, "MAG!", "mag"},
	{0, "IBOM", "mobi"},
	{0, "MOBI", "mobi"},
	{0, "MLE\x00", "mle"},
	{0, "1AIW", "wia"},
	{0, "WIA1", "wia"},
	{4, torch, "torch"},
	{13, torch, "torch"}, // after a FRAME opcode
	{0, "\x89HDF\r\n\x1a\n", hdf5},
	{4, "TFL3", flow},
	{0, "lmgg", ggml}, // "ggml" as a little-endian integer, and its successors
	{0, "fmgg", ggml},
	{0, "tjgg", ggml},
	{0, "algg", ggml},
	{0, "\x1f\x8b", "compressed with gzip" + unpack},
	{0, "\x28\xb5\x2f\xfd", "compressed with zstd" + unpack},
	{0, "\xfd7zXZ", "compressed with xz" + unpack},
	{0, "BZh", "compressed with bzip2" + unpack},
	{0, "sys_info\x00", oldTar},
	{257, "ustar", "a tar archive" + unpack},
	{0, "version https://git-lfs.", "a Git LFS pointer, not the file it stands for: fetch that with \"git lfs pull\""},
}

// zipName is the offset of the first entry's name in a ZIP archive. The length of the name is four
// bytes before it.
const zipName = 30

// kindOf returns what the first bytes of a file say it is: a format, a description, or "".
func kindOf(head string) string {
	for _, k := range kinds {
		if len(head) >= k.at && strings.HasPrefix(head[k.at:], k.magic) {
			return k.is
		}
	}
	if isPickle(head) || firstEntry(head) == "data.pkl" {
		return "torch"
	}
	return ""
}

// isPickle reports whether a file begins like a pickle of the protocols 2 to 5. No opcode is 0.
func isPickle(head string) bool {
	return len(head) > 2 && head[0] == 0x80 && 2 <= head[1] && head[1] <= 5 && head[2] != 0
}

// Format returns the format of this module that a file is in that begins with first, or "" unless it is certain.
func Format(first []byte) string {
	is := kindOf(string(first))
	if NoDriver(is) == nil {
		return ""
	}
	return is
}

// Name describes a file that begins with first (driver.SniffLen bytes, or all of it). It returns ""
// unless it is certain.
func Name(first []byte, path string) string {
	head := string(first)
	if format := Format(first); format != "" {
		return Model(format)
	}
	if is := kindOf(head); is != "" {
		return is
	}
	switch {
	case len(head) < 2:
	case firstEntry(head) != "":
		return Entry(firstEntry(head))
	case isTensor(head):
		return proto
	case head[0] != 0x08 && head[0] != 0x0a:
	case strings.HasSuffix(path, ".pb"): // a protobuf message of another schema, which has no magic either
		return flow
	case strings.HasSuffix(path, ".mlmodel"):
		return coreML
	}
	return ""
}

// Guess is like Name, but less certain.
func Guess(head []byte) string {
	text := strings.TrimPrefix(string(head), "\ufeff")
	text = strings.TrimLeftFunc(text, func(r rune) bool { return r <= ' ' })
	switch {
	case strings.HasPrefix(text, "PK\x03\x04"):
		return "a ZIP archive" + unpack
	case len(head) < 8 || text == "" || !isText(text):
		return ""
	case text[0] == '<' && len(text) > 1 && strings.IndexByte("!?hH", text[1]) >= 0:
		return "a web page, not a model, such as one to log in: download the file itself"
	case text[0] == '{' || text[0] == '[':
		return "a JSON file, such as a model's configuration" + other
	}
	return "plain text, such as a README" + other
}

// Model describes a file that is a model in a format.
func Model(format string) string { return "a model in the format " + format + ": open it as that" }

// firstEntry returns the name, without its directory, of the first entry of a ZIP archive, or "".
func firstEntry(head string) string {
	if len(head) <= zipName || head[0] != 'P' {
		return ""
	}
	name := head[zipName:min(len(head), zipName+int(head[zipName-4]))]
	return name[strings.LastIndexByte(name, '/')+1:]
}

// Entry describes a ZIP archive that has an entry with this name, or returns "".
func Entry(name string) string {
	base := name[strings.LastIndexByte(name, '/')+1:]
	switch base {
	case "data.pkl":
		return Model("torch")
	case "model.weights.h5":
		return hdf5
	case "archive_format", "serialized_exported_program.json":
		return export
	}
	if strings.HasSuffix(base, ".pth") || strings.HasSuffix(base, ".pt") {
		return fmt.Sprintf("an archive with PyTorch files in it, as stable-baselines3 writes them: unpack it and open one of them, such as %.200s", name)
	}
	return ""
}

// Directory describes a directory, or returns "". has reports whether it has a file.
func Directory(path string, has func(name string) bool) string {
	if strings.HasSuffix(strings.TrimSuffix(path, "/"), ".mlpackage") {
		return coreML
	}
	if has("saved_model.pb") {
		return flow
	}
	return ""
}

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
