package main

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path"

	"github.com/weightmap/weightmap/format"
)

// openModel opens a file of any format. What is no model file of ours but is known
// by sight is refused with what to do about it.
func openModel(name string, key []byte) (*format.Model, error) {
	m, err := format.Open(name, &format.Options{Key: key})
	if errors.Is(err, format.ErrUnknownFormat) {
		if advice := foreign(name); advice != "" {
			return nil, fmt.Errorf("%s: %s", name, advice)
		}
	}
	return m, hint(err, key)
}

// What to say of files that are not supported.
const (
	pickleAdvice = "a PyTorch pickle: pickles are programs and are never read; save as safetensors"
	torchAdvice  = "a PyTorch checkpoint, which is a ZIP archive around a pickle: pickles are programs and are never read; save as safetensors"
	hdf5Advice   = "an HDF5 file, as Keras writes: HDF5 is not read; save the weights as safetensors or npz"
	kerasAdvice  = "a Keras archive with HDF5 inside: HDF5 is not read; save the weights as safetensors or npz"
	tfliteAdvice = "a TensorFlow Lite model: its FlatBuffers are not read; convert it to ONNX, or save the original model as safetensors"
	lfsAdvice    = "a Git LFS pointer, not the file it stands for: fetch that with \"git lfs pull\""
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
	{0, "version https://git-lfs.github.com/spec/", lfsAdvice},
}

// foreign says what a file is that no registered format claims, "" when it is not
// known either.
func foreign(name string) string {
	f, err := os.Open(name)
	if err != nil {
		return ""
	}
	defer f.Close()
	head := make([]byte, 64)
	n, _ := io.ReadFull(f, head)
	head = head[:n]
	for _, s := range signatures {
		if len(head) >= s.offset && bytes.HasPrefix(head[s.offset:], []byte(s.bytes)) {
			return s.advice
		}
	}
	if bytes.HasPrefix(head, []byte("PK")) {
		return foreignArchive(f)
	}
	return ""
}

// foreignArchive goes by the names in a ZIP archive; nothing is unpacked.
func foreignArchive(f *os.File) string {
	st, err := f.Stat()
	if err != nil {
		return ""
	}
	archive, err := zip.NewReader(f, st.Size())
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
