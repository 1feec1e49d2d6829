package main

import (
	"archive/zip"
	"bytes"
	"errors"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/weightmap/weightmap/format"
)

// What to say of files that are not supported.
const (
	pickles      = "; pickles are programs and are never read"
	torchSave    = "convert it with safetensors.torch.save_file(torch.load(FILE, weights_only=True), OUT)"
	pickleAdvice = "this is a PyTorch pickle: " + torchSave + pickles
	torchAdvice  = "this is a PyTorch checkpoint, a ZIP archive around a pickle: " + torchSave + pickles
	numpySave    = "load it with Keras or h5py and write the weights with numpy.savez or safetensors.numpy.save_file"
	hdf5Advice   = "this is an HDF5 file, as Keras writes them, and HDF5 is not read: " + numpySave
	kerasAdvice  = "this is a Keras archive with HDF5 inside, and HDF5 is not read: " + numpySave
	savedAdvice  = "this is a TensorFlow SavedModel, which is not read: convert it with python -m tf2onnx.convert --saved-model DIR --output OUT.onnx"
	frozenAdvice = "this looks like a TensorFlow graph, which is not read: convert it with python -m tf2onnx.convert --graphdef FILE --output OUT.onnx"
	tfliteAdvice = "this is a TensorFlow Lite model, whose FlatBuffers are not read: convert it with python -m tf2onnx.convert --tflite FILE --output OUT.onnx"
	coreMLAdvice = "this is a Core ML model, which is not read: export the model it was made from to ONNX or safetensors"
	ggmlAdvice   = "this is a GGML file, from before GGUF: convert it with llama.cpp's convert_llama_ggml_to_gguf.py"
	gzipAdvice   = "this is compressed with gzip: unpack it first"
	lfsAdvice    = "this is a Git LFS pointer, not the file it stands for: fetch that with \"git lfs pull\""
)

// signatures are what such files have at some offset.
var signatures = []struct {
	offset int
	bytes  string
	advice string
}{
	{0, "\x80\x02", pickleAdvice}, // and so on up to protocol 5
	{0, "\x80\x03", pickleAdvice},
	{0, "\x80\x04", pickleAdvice},
	{0, "\x80\x05", pickleAdvice},
	{0, "\x89HDF\r\n\x1a\n", hdf5Advice},
	{4, "TFL3", tfliteAdvice},
	{0, "lmgg", ggmlAdvice}, // "ggml" as a little-endian number, and its successors
	{0, "fmgg", ggmlAdvice},
	{0, "tjgg", ggmlAdvice},
	{0, "algg", ggmlAdvice},
	{0, "\x1f\x8b\x08", gzipAdvice},
	{0, "version https://git-lfs.github.com/spec/", lfsAdvice},
}

// foreign says what a file is that failed to open with err, "" when that is not known
// either.
func foreign(name string, err error) string {
	unknown := errors.Is(err, format.ErrUnknownFormat)
	if err == nil || !unknown && !errors.Is(err, format.ErrCorrupt) && !errors.Is(err, format.ErrTruncated) && !errors.Is(err, format.ErrUnsupported) {
		return "" // the content is not to blame
	}
	st, failed := os.Stat(name)
	switch {
	case failed != nil:
		return ""
	case st.IsDir():
		return foreignDirectory(name)
	case !st.Mode().IsRegular():
		return ""
	}
	f, failed := os.Open(name)
	if failed != nil {
		return ""
	}
	defer f.Close()
	if advice := byName(name, f); advice != "" {
		return advice
	}
	if !unknown {
		return ""
	}
	return bySight(f, st.Size())
}

// byName goes by the ending of a protobuf message, which has no magic and may look
// like ONNX. Such messages begin with a first field of a number, or of bytes.
func byName(name string, r io.ReaderAt) string {
	first := make([]byte, 1)
	if n, _ := r.ReadAt(first, 0); n == 0 || first[0] != 0x08 && first[0] != 0x0a {
		return ""
	}
	switch base := strings.ToLower(filepath.Base(name)); {
	case base == "saved_model.pb":
		return savedAdvice
	case strings.HasSuffix(base, ".pb"):
		return frozenAdvice
	case strings.HasSuffix(base, ".mlmodel"):
		return coreMLAdvice
	}
	return ""
}

// bySight goes by the content.
func bySight(r io.ReaderAt, size int64) string {
	head := make([]byte, 64)
	n, _ := r.ReadAt(head, 0)
	head = head[:n]
	for _, s := range signatures {
		if len(head) >= s.offset && bytes.HasPrefix(head[s.offset:], []byte(s.bytes)) {
			return s.advice
		}
	}
	if bytes.HasPrefix(head, []byte("PK\x03\x04")) {
		return foreignArchive(r, size)
	}
	return ""
}

// foreignArchive goes by the names in a ZIP archive; nothing is unpacked.
func foreignArchive(r io.ReaderAt, size int64) string {
	archive, err := zip.NewReader(r, size)
	if err != nil {
		return ""
	}
	for _, entry := range archive.File {
		switch path.Base(entry.Name) {
		case "data.pkl":
			return torchAdvice
		case "model.weights.h5":
			return kerasAdvice
		}
	}
	return ""
}

// foreignDirectory goes by the names in a directory.
func foreignDirectory(name string) string {
	if _, err := os.Stat(filepath.Join(name, "saved_model.pb")); err == nil {
		return savedAdvice
	}
	if strings.EqualFold(filepath.Ext(filepath.Clean(name)), ".mlpackage") {
		return coreMLAdvice
	}
	return ""
}
