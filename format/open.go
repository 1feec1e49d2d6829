package format

import (
	"errors"
	"io"
	"os"

	"github.com/weightmap/weightmap/internal/source"
	"github.com/weightmap/weightmap/internal/wire"
)

// Open maps the model file at path and reads its structure. It detects the format by content; the
// package of the format must be imported, or format/all. Nil options work.
//
// If path is a directory, Open opens the first of these in it: model.safetensors.index.json,
// model.safetensors, pytorch_model.bin.index.json, pytorch_model.bin, adapter_model.safetensors,
// adapter_model.bin, diffusion_pytorch_model.safetensors.index.json,
// diffusion_pytorch_model.safetensors, the only other *.index.json, the shards of the only model of
// which all are there by their names (X-00001-of-00002.safetensors), the only file with the
// extension of a model or the parts of the only split GGUF model, the .tsr files, or an archive of
// PyTorch that was unpacked (data.pkl beside version, byteorder or data) if there is none of the
// files before. Files that tools leave beside a model, such as optimizer.pt and tokenizer.json, do
// not count. If there is none, or more than one model, the error lists the files; if the format is
// not linked, it names the import. Model.Path is then the path of the file, or that of the
// directory for shards without an index, .tsr files and an unpacked archive.
//
// A repository of a Hugging Face cache (models--ORG--NAME) is opened by the snapshot that its
// refs/main names, or by its only one.
//
// If the files of a model are replaced while it is opened, Open starts over, up to three times;
// then the error is ErrChanged.
func Open(path string, opts *Options) (*Model, error) {
	return openStable(func() (*Model, error) { return openPath(path, opts) })
}

// OpenBytes opens a model in memory, such as an embedded file. Views alias b, which must not change
// until the model is closed.
func OpenBytes(b []byte, opts *Options) (*Model, error) {
	m, err := newModel(opts)
	if err != nil {
		return nil, err
	}
	return m.finish(source.FromBytes(b), nil, "")
}

// OpenReaderAt opens a model of size bytes behind r, such as an object in a store. It reads the
// structure now, and the bytes of a tensor each time they are used, unless Options.CacheBytes keeps
// them. View.Slice and View.ReadAt read only the bytes they return. Package format/remote has a
// reader for HTTP. A nil r is fs.ErrInvalid. ReadAt must not close the model, since Close waits for
// it.
//
// If r is a SiblingOpener, ContextReaderAt, DescribedReader or NotifiedReader, its methods are used
// as well.
func OpenReaderAt(r io.ReaderAt, size int64, opts *Options) (*Model, error) {
	m, err := newModel(opts)
	if err == nil && r == nil {
		err = missing("reader")
	}
	if err != nil {
		return nil, err
	}
	m.opening.door = siblingsOf(r)
	region, err := source.OpenReader(readerOf(r), size, m.files())
	return m.finish(region, err, "")
}

// OpenFile maps size bytes at offset off of an open file, such as an uncompressed asset in an
// Android package. A size of -1 means up to the end. Offsets in the model and its errors count from
// off. The caller may close f afterwards. A nil f is fs.ErrInvalid.
func OpenFile(f *os.File, off, size int64, opts *Options) (*Model, error) {
	m, err := newModel(opts)
	if err == nil && f == nil {
		err = missing("file")
	}
	if err != nil {
		return nil, err
	}
	r, err := source.OpenFile(f, off, size, m.files())
	m.opening.isPart = off > 0 || size >= 0
	return m.finish(r, err, f.Name())
}

func openPath(path string, opts *Options) (*Model, error) {
	m, err := newModel(opts)
	if err != nil {
		return nil, wire.Place(err, "", path, "")
	}
	err = m.file.Open(path, m.files())
	if errors.Is(err, source.ErrDirectory) {
		m.opening.door = inDirectory(path, m.opening.options.Root)
		return m.openDir(path, true)
	}
	m.opening.name = path
	return m.finish(&m.file, err, path)
}
