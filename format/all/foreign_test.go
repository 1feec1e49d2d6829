package all_test

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/internal/foreign"
	"github.com/weightmap/weightmap/tensor"
)

// strangers are files that no format reads, and what each is called.
var strangers = []struct{ name, content, want string }{
	{"a README", "# Model card\n\nA description.\n", "this is plain text, such as a README"},
	{"a README with a byte order mark", "\ufeff# Modèle\n\nUne description.\n", "this is plain text, such as a README"},
	{"text that is cut within a character", strings.Repeat("e", 261) + "é and more", "this is plain text, such as a README"},
	{"an HTML page", "\n<!DOCTYPE html>\n<html><body>Log in</body></html>\n", "this is a web page, not a model, perhaps for a login"},
	{"JSON", `{"architectures": ["BertModel"]}`, "this is a JSON file"},
	{"a Git LFS pointer", "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 9\n", "this is a Git LFS pointer"},
	{"a key", "-----BEGIN PRIVATE KEY-----\nMC4C\n", "this is a key or certificate in PEM form: open the model"},
	{"HDF5", "\x89HDF\r\n\x1a\n\x00\x00\x00\x00\x00\x08\x08\x00", "this is an HDF5 file"},
	{"gzip", "\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03", "this is compressed with gzip: unpack it first"},
	{"zstd", "\x28\xb5\x2f\xfd\x04\x00\x41\x00\x00", "this is compressed with zstd: unpack it first"},
	{"tar", "README" + strings.Repeat("\x00", 251) + "ustar\x0000", "this is a tar archive: unpack it first"},
	{"TensorFlow Lite", "\x1c\x00\x00\x00TFL3\x14\x00\x20\x00", "this is a TensorFlow or TensorFlow Lite model"},
	{"an ONNX tensor", "\x08\x02\x08\xac\x02\x10\x01\x42\x01x\x4a\x00", "this is an ONNX tensor, not a model"},
	{"an ONNX tensor without dims", "\x10\x07\x42\x01x\x4a\x08\x00\x00\x00\x00\x00\x00\x00\x00", "this is an ONNX tensor, not a model"},
	{"ggml", "lmgg\x00\x7d\x00\x00", "this is an old GGML file without a version (ggml)"},
	{"ggmf", "fmgg\x01\x00\x00\x00\x00\x7d\x00\x00", "(ggmf), from before GGUF: convert it with llama.cpp's convert_llama_ggml_to_gguf.py --input IN --output OUT.gguf"},
	{"ggjt", "tjgg\x03\x00\x00\x00\x00\x7d\x00\x00", "(ggjt), from before GGUF: convert it with llama.cpp's convert_llama_ggml_to_gguf.py --input IN --output OUT.gguf"},
	{"ggla", "algg\x01\x00\x00\x00\x10\x00\x00\x00", "(ggla), from before GGUF: convert the adapter that it was made from"},
	{"a session of llama.cpp", "nsgg\x09\x00\x00\x00", "this is a session that llama.cpp saved"},
	{"GGUF with its bytes swapped", "FUGG\x00\x00\x00\x03", "this is a GGUF file with its bytes swapped: convert"},
	{"a tar file of PyTorch 0.1", "sys_info" + strings.Repeat("\x00", 249) + "ustar\x0000", "this is a tar file of PyTorch 0.1: if you trust it, since loading it may run a program: python -c"},
	{"NeMo", "./model_config.yaml" + strings.Repeat("\x00", 238) + "ustar\x0000", "this is a NeMo archive: unpack it with tar -xf IN.nemo, and open model_weights.ckpt"},
	{"7z", "7z\xbc\xaf\x27\x1c\x00\x04", "this is a 7z archive: unpack it first"},
	{"TensorRT", "ftrt\x00\x00\x00\x00\x01\x00\x00\x00", "this is an engine of TensorRT"},
	// ../shared/cases/reports/s06_all_zero.safetensors
	{"zeros", strings.Repeat("\x00", 156), "this is a file that begins with zeros, as a copy or a download leaves it that was never filled"},
	{"many zeros", strings.Repeat("\x00", 1<<16) + "data", "this is a file that begins with zeros"},
	// ../shared/cases/reports/s22_entry.safetensors
	{"no entry", "Entry not found", "this is what the Hub answers for a file or repository that is not there, not a model: check both names and download it again"},
	{"no repository", "Repository not found\n", "this is what the Hub answers for a file or repository that is not there"},
	{"no access", "Access to model meta-llama/Llama-2-7b-hf is restricted and you are not in the authorized list. Visit https://huggingface.co/meta-llama/Llama-2-7b-hf to ask for access.",
		"this is what the Hub answers without access to a model, not the model: ask for access on its page"},
	{"a wrong password", "Invalid username or password.", "this is what the Hub answers without access to a model"},
	{"an error in JSON", `{"error":"Repository not found"}`, "this is an error message of a server, not a model: download it again"},
	{"an error in XML", "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Error><Code>AccessDenied</Code></Error>", "this is an error message of a server, not a model"},
	{"XML", "<?xml version=\"1.0\"?>\n<net name=\"x\" version=\"11\"></net>", "this is an XML file"},
	{"a Git Xet pointer", "# xet version 0\nfilesize = 9\nhash = \"00\"\n", "this is a Git Xet pointer"},
}

// archives are ZIP archives that no format reads, and what each is called.
var archives = []struct{ name, content, want string }{
	// ../shared/cases/reports/r43_sb3.zip
	{"stable-baselines3", zipOf("data", "abc", "policy.optimizer.pth", "abc", "policy.pth", "abc"), "stable-baselines3 writes them: unpack it and open one of them, such as policy"},
	{"torch.export", zipOf("m/archive_format", "pt2", "m/data/weights/weight_0", "abc"), "this is a program of torch.export: save its tensors with python -c"},
	{"an old torch.export", zipOf("version", "3", "serialized_exported_program.json", "{}"), "this is a program of torch.export"},
	{"TorchServe", zipOf("MAR-INF/MANIFEST.json", "{}", "model.pt", "abc"), "this is an archive of TorchServe"},
	{"Keras", zipOf("config.json", "{}", "model.weights.h5", "\x89HDF"), "this is an HDF5 file"},
}

// toldByName are files that no format reads, which their names tell.
var toldByName = []struct{ file, content, want string }{
	{"__0_0.distcp", zipOf("archive/x", "abc"), "this is a checkpoint of torch.distributed: convert it with python -c"},
	{"m.pdparams", "\x80\x02}q\x00X\x01\x00\x00\x00aK\x01s.", "this is a PaddlePaddle checkpoint: save its arrays with python -c"},
	{"m.pdiparams", strings.Repeat("\x00", 16) + "\x06", "this is a PaddlePaddle inference model: convert it with paddle2onnx"},
	{"m.nemo", "\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03", "this is a NeMo archive: unpack it with tar -xf IN.nemo"},
	{"m.joblib", "x\x9c\x01\x01\x01\x01\x01\x01", "this is a joblib file"},
	{"flax_model.msgpack", "\x81\xa6params\x80", "this is a checkpoint of Flax: save its arrays with python -c"},
	{"manifest.ocdbt", "\x0c\xdb\x3a\x2a\x00\x00\x00\x00", "this is a checkpoint of Orbax: save its arrays with python -c"},
	{"m.ckpt-9.data-00000-of-00001", "\x00\x00\x80\x3f\x00\x00\x80\x3f", "this is a TensorFlow checkpoint: save its arrays with python -c"},
	{"m.gguf.part1of2", "GGUF\x03\x00\x00\x00\x01", "this is a piece of a file that was split: put the pieces together in their order"},
	{"m.gguf.part2of2", "\xffabcdefgh", "this is a piece of a file that was split"},
	{"m.q8_0.gguf-split-b", "\xffabcdefgh", "this is a piece of a file that was split"},
	{"m.safetensors.aa", safe("w")[:20], "this is a piece of a file that was split"},
	{"m.safetensors.002", "plain text, it seems", "this is a piece of a file that was split"},
	{"m.safetensors.incomplete", safe("w")[:20], "this is an unfinished download: continue it"},
	{"m.gguf.crdownload", "GGUF\x03\x00\x00\x00\x01", "this is an unfinished download"},
}

// TestToldByName: what is no model is named by its name if its content tells nothing better.
func TestToldByName(t *testing.T) {
	for _, tt := range toldByName {
		path := filepath.Join(t.TempDir(), tt.file)
		expect.OK(t, os.WriteFile(path, []byte(tt.content), 0o644))
		for _, name := range append([]string{""}, format.Names()...) {
			_, err := format.Open(path, &format.Options{Format: formatNamed(name)})
			if !errors.Is(err, format.ErrUnknownFormat) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%s, opened as %q: %v, want %q", tt.file, name, err, tt.want)
			}
		}
	}
}

// TestDirectoriesOfOthers: a directory that another program keeps a model in is named.
func TestDirectoriesOfOthers(t *testing.T) {
	for _, tt := range []struct {
		dir   string
		files map[string]string
		want  string
	}{
		{"dcp", map[string]string{".metadata": "\x80\x02}.", "__0_0.distcp": "x", "__1_0.distcp": "x"}, "this is a checkpoint of torch.distributed: convert it"},
		{"orbax", map[string]string{"_CHECKPOINT_METADATA": "{}", "d/00": "x"}, "this is a checkpoint of Orbax: save its arrays"},
		{"ocdbt", map[string]string{"manifest.ocdbt": "x", "d/00": "x"}, "this is a checkpoint of Orbax"},
		{"tensorflow", map[string]string{"checkpoint": "x", "m.index": "x", "m.data-00000-of-00001": "x"}, "this is a TensorFlow checkpoint"},
		{"ollama", map[string]string{"blobs/sha256-00": "x", "manifests/registry.ollama.ai/library/m/latest": "{}"}, "this is a store of Ollama: open the file that"},
		{"saved", map[string]string{"saved_model.pb": "x", "variables/variables.index": "x"}, "this is a TensorFlow or TensorFlow Lite model"},
		{"m.mlpackage", map[string]string{"Manifest.json": "{}"}, "this is a Core ML model"},
	} {
		dir := filepath.Join(t.TempDir(), tt.dir)
		lay(t, dir, tt.files)
		_, err := format.Open(dir, nil)
		if !errors.Is(err, format.ErrUnknownFormat) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", tt.dir, err, tt.want)
		}
	}
}

// TestOldAndDamaged: what a format reads in another version or state says what to do.
func TestOldAndDamaged(t *testing.T) {
	header := func(text string) string {
		return string(binary.LittleEndian.AppendUint64(nil, uint64(len(text)))) + text
	}
	for _, tt := range []struct {
		name, content string
		err           error
		want          string
	}{
		// ../shared/cases/reports/g08_v1.gguf
		{"GGUF 1", "GGUF\x01\x00\x00\x00" + strings.Repeat("\x00", 16), format.ErrVersion, "at 0x4: version: unsupported version: 1, which was written in August 2023 only: convert the model again"},
		{"big-endian GGUF", "GGUF\x00\x00\x00\x03" + strings.Repeat("\x00", 16), format.ErrVersion, "swap the bytes of a copy with gguf-convert-endian COPY little"},
		{"NUL padding", header("{} \x00\x00\x00\x00\x00"), format.ErrCorrupt, `at 0xb: header: corrupt: it is padded with NUL bytes, not with spaces: write spaces with python -c "`},
		{"a header that was not filled", header(`{"w":{"dtype":"F3` + strings.Repeat("\x00", 47)), format.ErrCorrupt, "at 0x19: header: corrupt: zeros from here on, as a copy or a download leaves them that was never filled"},
		{"zeros between", header(`{"w":` + "\x00\x00" + `{}}`), format.ErrCorrupt, "at 0xd: header: corrupt: zeros from here on"},
	} {
		_, err := format.OpenBytes([]byte(tt.content), nil)
		if !errors.Is(err, tt.err) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %v with %q", tt.name, err, tt.err, tt.want)
		}
	}
}

// zipOf returns a ZIP archive of names and contents.
func zipOf(files ...string) string {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for i := 0; i < len(files); i += 2 {
		w, err := z.CreateHeader(&zip.FileHeader{Name: files[i]})
		if err != nil {
			panic(err)
		}
		w.Write([]byte(files[i+1]))
	}
	z.Close()
	return b.String()
}

// TestStrangers: what is no model is named by format.Open, and by each format's own.
func TestStrangers(t *testing.T) {
	for _, tt := range strangers {
		for _, name := range append([]string{""}, format.Names()...) {
			refused(t, tt.name, []byte(tt.content), name, tt.want)
		}
	}
	for _, tt := range archives {
		for _, name := range [...]string{"", "npz", "torch"} { // which read archives
			refused(t, tt.name, []byte(tt.content), name, tt.want)
		}
	}
}

// TestOtherFormats: a format's own Open names the format that a file has.
func TestOtherFormats(t *testing.T) {
	for _, is := range format.Writable() {
		b := small(t, is)
		for _, name := range format.Names() {
			if name != is {
				refused(t, is, b, name, "this is a model in the format "+is)
			}
		}
	}
}

// TestEndings: the table of packages that errors name for a forgotten import has each format and each ending.
func TestEndings(t *testing.T) {
	for _, name := range format.Names() {
		if foreign.NoDriver(name) == nil {
			t.Errorf("%s is not in the table", name)
		}
		for _, ending := range formatNamed(name).Driver().Describe().Extensions {
			if got := foreign.ByEnding("m" + ending); got != name {
				t.Errorf("a file that ends in %s is of %q, want %q", ending, got, name)
			}
		}
	}
}

// small writes a model of one tensor.
func small(t *testing.T, name string) []byte {
	t.Helper()
	var b bytes.Buffer
	p := &schema.Schema{Tensors: []tensor.Info{list(tensor.Float32, "1", 1)}}
	w, err := format.NewWriter(&b, p, &format.WriteOptions{Format: formatNamed(name)})
	expect.OK(t, feed(p, w, err))
	return b.Bytes()
}

// refused opens content by the format called name, or by whatever claims it, as bytes and through a reader.
func refused(t *testing.T, what string, content []byte, name, want string) {
	t.Helper()
	o := &format.Options{Format: formatNamed(name)}
	_, byBytes := format.OpenBytes(content, o)
	_, byReader := format.OpenReaderAt(bytes.NewReader(content), int64(len(content)), o)
	for _, err := range []error{byBytes, byReader} {
		if !errors.Is(err, format.ErrUnknownFormat) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s, opened as %q: %v, want %q", what, name, err, want)
		}
	}
}
