package format_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log"
	"os"
	"path/filepath"
	"slices"
	"testing/fstest"

	"github.com/weightmap/weightmap/format"
	_ "github.com/weightmap/weightmap/format/all"
	"github.com/weightmap/weightmap/format/gguf"
	"github.com/weightmap/weightmap/format/onnx"
	"github.com/weightmap/weightmap/format/safetensors"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/mag"
	"github.com/weightmap/weightmap/mle"
	"github.com/weightmap/weightmap/mobi"
	"github.com/weightmap/weightmap/tensor"
)

// examplePath returns the path of a file to come, in a new directory.
func examplePath() string {
	dir, err := os.MkdirTemp("", "weightmap-example-")
	if err != nil {
		log.Fatal(err)
	}
	return filepath.Join(dir, "model.mag")
}

// layers returns fc.weight, float32 [2, 2], and fc.bias, float32 [2].
func layers() []tensor.View {
	weight, err := tensor.Of("fc.weight", tensor.Shape{2, 2}, []float32{1, 2, 3, 4})
	if err != nil {
		log.Fatal(err)
	}
	bias, err := tensor.Of("fc.bias", tensor.Shape{2}, []float32{0.5, -1})
	if err != nil {
		log.Fatal(err)
	}
	return []tensor.View{weight, bias}
}

// saved writes the layers to a file of that name in a new directory, and returns its path.
func saved(name string) string {
	path := filepath.Join(filepath.Dir(examplePath()), name)
	if err := format.Save(context.Background(), path, nil, layers(), nil); err != nil {
		log.Fatal(err)
	}
	return path
}

// file returns the bytes of a file with the layers.
func file(formatName string) []byte {
	var b bytes.Buffer
	s := &schema.Schema{}
	for _, v := range layers() {
		s.Tensors = append(s.Tensors, v.Info())
	}
	w, err := format.NewWriter(&b, s, &format.WriteOptions{Format: expect.Must(format.ByName(formatName))})
	if err != nil {
		log.Fatal(err)
	}
	for _, v := range layers() {
		if err := w.WriteView(v); err != nil {
			log.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		log.Fatal(err)
	}
	return b.Bytes()
}

// The format is detected by content. A loop over the tensors reads no data.
func ExampleOpen() {
	path := saved("model.safetensors")
	defer os.RemoveAll(filepath.Dir(path))

	m, err := format.Open(path, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()
	fmt.Println(m.Format())
	for name, v := range m.Tensors() {
		fmt.Println(name, v.DType(), v.Shape())
	}
	// Output:
	// safetensors
	// fc.bias float32 [2]
	// fc.weight float32 [2, 2]
}

// A directory with several models is an error that has their names.
func ExampleChoiceError() {
	dir := filepath.Dir(saved("small.safetensors"))
	defer os.RemoveAll(dir)
	if err := format.Save(context.Background(), filepath.Join(dir, "large.gguf"), nil, layers(), nil); err != nil {
		log.Fatal(err)
	}

	_, err := format.Open(dir, nil)
	var choice *format.ChoiceError
	if errors.As(err, &choice) {
		fmt.Println(choice.Names)
	}
	// Output:
	// [large.gguf small.safetensors]
}

// Loading: many slices at once, into memory of the program.
func ExampleModel_Load() {
	m, err := format.OpenBytes(file("mag"), nil)
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()
	weights, row := make([]float32, 4), make([]byte, 8)
	err = m.Load(context.Background(), []format.Request{
		{Tensor: "fc.weight", Floats: weights},                                 // decoded, whatever the dtype
		{Tensor: "fc.weight", Slice: []tensor.Range{tensor.At(1)}, Bytes: row}, // the second row
	}, nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(weights)
	fmt.Println(row)

	// Output:
	// [1 2 3 4]
	// [0 0 64 64 0 0 128 64]
}

// Weights are copied to a device piece by piece, through two buffers of the program.
func ExampleModel_Stream() {
	m, err := format.OpenBytes(file("mag"), nil)
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()
	requests := []format.Request{
		{Tensor: "fc.bias"},
		{Tensor: "fc.weight", Slice: []tensor.Range{tensor.At(1)}}, // the second row
	}
	device := map[string][]byte{}
	ring := [][]byte{make([]byte, 6), make([]byte, 6)} // megabytes, in a program
	err = m.Stream(context.Background(), requests, ring, func(p format.Piece) error {
		name := requests[p.Request].Tensor
		fmt.Printf("%s at %d: % x, last: %v\n", name, p.Offset, p.Data, p.Last)
		device[name] = append(device[name], p.Data...)
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}

	// Output:
	// fc.weight at 0: 00 00 40 40, last: false
	// fc.weight at 4: 00 00 80 40, last: true
	// fc.bias at 0: 00 00 00 3f, last: false
	// fc.bias at 4: 00 00 80 bf, last: true
}

// Saving: slices become a file in one call.
func ExampleSave() {
	path := examplePath()
	defer os.RemoveAll(filepath.Dir(path))

	weight, err := tensor.Of("fc.weight", tensor.Shape{2, 2}, []float32{1, 2, 3, 4}) // not copied
	if err != nil {
		log.Fatal(err)
	}
	if err := format.Save(context.Background(), path, nil, []tensor.View{weight}, nil); err != nil { // the format by the ending
		log.Fatal(err)
	}
	m, err := format.Open(path, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()
	for _, v := range m.Tensors() {
		fmt.Println(v)
	}

	// Output:
	// "fc.weight" float32 [2, 2]
}

// A checkpoint: tensors with metadata.
func ExampleSave_metadata() {
	path := examplePath()
	defer os.RemoveAll(filepath.Dir(path))
	s := &schema.Schema{Metadata: schema.Metadata{{Key: "step", Value: int64(1200)}, {Key: "loss", Value: 0.25}}}
	err := format.Save(context.Background(), path, s, layers(), nil)
	if err != nil {
		log.Fatal(err)
	}
	m, err := format.Open(path, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()
	meta, err := m.Metadata()
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(meta.Int64("step"))
	fmt.Println(meta.Float64("loss"))
	// Output:
	// 1200 <nil>
	// 0.25 <nil>
}

// The same to any io.Writer, such as the answer to a request. Without a name of a file the options have the format.
func ExampleWrite() {
	var out bytes.Buffer
	err := format.Write(context.Background(), &out, nil, layers(), &format.WriteOptions{Format: safetensors.Format{}})
	if err != nil {
		log.Fatal(err)
	}
	m, err := format.OpenBytes(out.Bytes(), nil)
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()
	fmt.Println(m.Format(), m.Len())
	// Output: safetensors 2
}

// What a format could not hold of a model, before anything is written.
func ExampleLosses() {
	s := &schema.Schema{Metadata: schema.Metadata{{Key: "author", Value: "me"}}}
	for _, path := range []string{"model.gguf", "model.npz"} {
		lost, err := format.Losses(path, s, nil)
		fmt.Println(path, len(lost), err)
		for _, l := range lost {
			fmt.Println(l.Item(), l.Why)
		}
	}
	// Output:
	// model.gguf 0 <nil>
	// model.npz 1 <nil>
	// metadata:author NumPy has no metadata (string)
}

// The same options for two formats.
func ExampleWriteOptions_With() {
	o := &format.WriteOptions{AcceptLoss: []string{"name"}}
	for _, f := range []format.Format{mle.Format{HeaderSize: 128}, mobi.Format{Footer: mobi.CRC32}} {
		var out bytes.Buffer
		err := format.Write(context.Background(), &out, nil, layers(), o.With(f))
		fmt.Println(out.Len(), err)
	}
	// Output:
	// 520 <nil>
	// 184 <nil>
}

// A file that must be of one format. It fails to open as another.
func ExampleOptions_With() {
	path := saved("model.gguf")
	defer os.RemoveAll(filepath.Dir(path))
	var o *format.Options
	_, err := format.Open(path, o.With(mag.Format{}))
	fmt.Println(errors.Is(err, format.ErrMagic))
	// Output: true
}

// Who signed a file: the key that is trusted, another one, or a key that proves nothing.
func ExampleModel_CheckSignature() {
	path := filepath.Join(filepath.Dir(examplePath()), "model.mle")
	defer os.RemoveAll(filepath.Dir(path))
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	err = format.Save(ctx, path, nil, layers(), &format.WriteOptions{Signer: private})
	if err != nil {
		log.Fatal(err)
	}
	m, err := format.Open(path, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()
	fmt.Println(m.CheckSignature(ctx, public))
	fmt.Println(m.CheckSignature(ctx, nil)) // by the key in the file
	// Output:
	// trusted <nil>
	// not checked <nil>
}

// Metadata: numbers of any type go in, and come out as what the reader wants.
func ExampleMetadata() {
	var out bytes.Buffer
	s := &schema.Schema{Metadata: schema.Metadata{
		{Key: "epochs", Value: 3}, {Key: "rate", Value: float32(0.5)}, {Key: "labels", Value: []string{"cat", "dog"}},
	}}
	w, err := format.NewWriter(&out, s, &format.WriteOptions{Format: mle.Format{}})
	if err != nil {
		log.Fatal(err)
	}
	if err := w.Close(); err != nil {
		log.Fatal(err)
	}
	m, err := format.OpenBytes(out.Bytes(), nil)
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()
	meta, err := m.Metadata()
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(meta.Int64("epochs"))
	fmt.Println(meta.Float64("rate"))
	fmt.Println(meta.Strings("labels"))
	fmt.Println(meta.Text("rate"))
	fmt.Println(meta.Int64("rate"))
	_, err = meta.Int64("seed")
	fmt.Println(errors.Is(err, format.ErrNotFound))

	// Output:
	// 3 <nil>
	// 0.5 <nil>
	// [cat dog] <nil>
	// 0.5 <nil>
	// 0 metadata "rate": unsupported: 0.5 is not an integer of 64 bits
	// true
}

// A model from go:embed or a network message.
func ExampleOpenBytes() {
	b := file("mag")
	m, err := format.OpenBytes(b, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()
	fmt.Println(m.Len(), "tensors, the first is", m.At(0).Name())
	// Output: 2 tensors, the first is fc.weight
}

// A model in a file system: embed.FS, a ZIP archive or os.DirFS.
func ExampleOpenFS() {
	fsys := fstest.MapFS{"models/model.safetensors": {Data: file("safetensors")}}
	m, err := format.OpenFS(fsys, "models", nil) // the directory's only model
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()
	fmt.Println(m.Format(), m.Len())
	// Output: safetensors 2
}

// A model inside another file, such as an asset of an Android package.
func ExampleOpenFile() {
	b := file("mag")
	f, err := os.CreateTemp("", "package")
	if err != nil {
		log.Fatal(err)
	}
	defer os.Remove(f.Name())
	if _, err := f.WriteAt(b, 4096); err != nil {
		log.Fatal(err)
	}

	m, err := format.OpenFile(f, 4096, int64(len(b)), nil)
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()
	f.Close() // the mapping stays
	v, err := m.Tensor("fc.bias")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(tensor.Decode[float32](nil, v))
	// Output: [0.5 -1] <nil>
}

// A model behind anything with ReadAt: only what is used is read, here a row.
func ExampleOpenReaderAt() {
	r := bytes.NewReader(file("mag"))
	m, err := format.OpenReaderAt(r, r.Size(), &format.Options{CacheBytes: 1 << 20})
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()
	v, err := m.Tensor("fc.weight")
	if err != nil {
		log.Fatal(err)
	}
	row, err := v.Slice(tensor.At(1))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(tensor.Decode[float32](nil, row))
	// Output: [3 4] <nil>
}

// object is a file in a store. It opens the others of its model and names itself.
type object struct {
	*bytes.Reader
	store map[string][]byte
	name  string
}

var (
	_ format.SiblingOpener   = object{}
	_ format.DescribedReader = object{}
)

// Sibling implements format.SiblingOpener.
func (o object) Sibling(name string) (io.ReaderAt, int64, error) {
	b, ok := o.store[name]
	if !ok {
		return nil, 0, fs.ErrNotExist
	}
	return object{bytes.NewReader(b), o.store, name}, int64(len(b)), nil
}

// ReaderInfo implements format.DescribedReader.
func (o object) ReaderInfo() format.ReaderInfo {
	return format.ReaderInfo{Path: "store:" + o.name, Proven: o.Size()}
}

// A model of several files in a store.
func ExampleSiblingOpener() {
	index := `{"weight_map": {"fc.weight": "a.safetensors", "fc.bias": "a.safetensors"}}`
	store := map[string][]byte{
		"model.safetensors.index.json": []byte(index),
		"a.safetensors":                file("safetensors"),
	}
	name := "model.safetensors.index.json"
	r := object{bytes.NewReader(store[name]), store, name}
	m, err := format.OpenReaderAt(r, r.Size(), nil)
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()
	fmt.Println(m)
	for _, f := range m.Stats().Files {
		fmt.Println(f.Path)
	}
	// Output:
	// "store:model.safetensors.index.json": safetensors 1, 2 tensors
	// store:model.safetensors.index.json
	// store:a.safetensors
}

// The schema comes first, then the data of each tensor, from any io.Reader.
func ExampleCreate() {
	path := filepath.Join(filepath.Dir(examplePath()), "model.safetensors")
	defer os.RemoveAll(filepath.Dir(path))

	s := &schema.Schema{
		Metadata: schema.Metadata{{Key: "author", Value: "me"}},
		Tensors:  []tensor.Info{{Name: "mask", DType: tensor.Bool, Shape: tensor.Shape{4}}},
	}
	w, err := format.Create(path, s, nil) // the format by the ending
	if err != nil {
		log.Fatal(err)
	}
	defer w.Abort() // leaves nothing behind; does nothing after Close
	if err := w.WriteTensor("mask", bytes.NewReader([]byte{1, 0, 0, 1})); err != nil {
		log.Fatal(err)
	}
	if err := w.Close(); err != nil { // the file appears now, whole
		log.Fatal(err)
	}
	for _, f := range w.Files() {
		fmt.Println(filepath.Base(f))
	}
	// Output: model.safetensors
}

// A model is written to any io.Writer; formats with a header that depends on the data are assembled
// in memory or in a temporary file first.
func ExampleNewWriter() {
	var out bytes.Buffer
	s := &schema.Schema{Tensors: []tensor.Info{{Name: "mask", DType: tensor.Bool, Shape: tensor.Shape{4}}}}
	w, err := format.NewWriter(&out, s, &format.WriteOptions{Spool: format.SpoolNever, Format: safetensors.Format{}})
	if err != nil {
		log.Fatal(err)
	}
	defer w.Abort()
	if err := w.WriteTensor("mask", bytes.NewReader([]byte{1, 0, 0, 1})); err != nil {
		log.Fatal(err)
	}
	if err := w.Close(); err != nil {
		log.Fatal(err)
	}
	name, err := format.Detect(out.Bytes(), int64(out.Len()))
	fmt.Println(name, err)
	// Output: safetensors <nil>
}

// Two models become one.
func ExampleWriter_WriteView() {
	first, err := format.OpenBytes(file("mag"), nil)
	if err != nil {
		log.Fatal(err)
	}
	defer first.Close()
	second, err := format.OpenBytes(file("safetensors"), nil)
	if err != nil {
		log.Fatal(err)
	}
	defer second.Close()
	views := []tensor.View{first.At(0), second.At(0)}
	var out bytes.Buffer
	s := &schema.Schema{Tensors: []tensor.Info{views[0].Info(), views[1].Info()}}
	w, err := format.NewWriter(&out, s, &format.WriteOptions{Format: gguf.Format{}})
	if err != nil {
		log.Fatal(err)
	}
	defer w.Abort()
	for _, v := range views {
		if err := w.WriteView(v); err != nil {
			log.Fatal(err)
		}
	}
	fmt.Println(w.Close())
	// Output: <nil>
}

// The model in another format, with one entry more in its metadata.
func ExampleWriter_WriteModel() {
	path := saved("model.safetensors")
	defer os.RemoveAll(filepath.Dir(path))
	m, err := format.Open(path, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()

	s, err := m.Schema()
	if err != nil {
		log.Fatal(err)
	}
	s.Metadata = append(s.Metadata, schema.Entry{Key: "epochs", Value: int64(20)})
	w, err := format.Create(filepath.Join(filepath.Dir(path), "model.mag"), s, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer w.Abort()
	if err := w.WriteModel(m); err != nil {
		log.Fatal(err)
	}
	if err := w.Close(); err != nil {
		log.Fatal(err)
	}
	copied, err := format.Open(w.Files()[0], nil)
	if err != nil {
		log.Fatal(err)
	}
	defer copied.Close()
	meta, err := copied.Metadata()
	fmt.Println(copied.Len(), meta, err)
	// Output: 2 ["epochs": 20] <nil>
}

// What a format cannot hold is refused with a list, and left out when the caller accepts it.
func ExampleLossError() {
	path := filepath.Join(filepath.Dir(examplePath()), "model.npz")
	defer os.RemoveAll(filepath.Dir(path))
	s := &schema.Schema{Metadata: schema.Metadata{{Key: "author", Value: "me"}}}

	_, err := format.Create(path, s, nil)
	var refused *schema.LossError
	if !errors.As(err, &refused) {
		log.Fatal(err)
	}
	var accept []string
	for _, l := range refused.Losses {
		fmt.Println(l.Item(), l.Acceptable)
		accept = append(accept, l.Item()) // or string(l.Kind), for all metadata
	}
	w, err := format.Create(path, s, &format.WriteOptions{AcceptLoss: accept})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(w.Close())
	// Output:
	// metadata:author true
	// <nil>
}

func ExampleAcceptableLosses() {
	fmt.Println(slices.Contains(schema.AcceptableLosses(), string(schema.LossMetadata)))
	fmt.Println(slices.Contains(schema.AcceptableLosses(), string(schema.LossDType)))
	// Output:
	// true
	// false
}

// The format of a file by its first bytes and its size.
func ExampleDetect() {
	b := file("gguf")
	name, err := format.Detect(b[:16], int64(len(b)))
	fmt.Println(name, err)
	_, err = format.Detect([]byte("hello, world"), 12)
	fmt.Println(errors.Is(err, format.ErrUnknownFormat))
	// Output:
	// gguf <nil>
	// true
}

func ExampleByExtension() {
	f, err := format.ByExtension("weights/model.gguf")
	fmt.Println(f.Driver().Describe().Name, err)
	_, err = format.ByExtension("weights/model.txt")
	fmt.Println(errors.Is(err, format.ErrUnknownFormat))
	// Output:
	// gguf <nil>
	// true
}

// One format, chosen at run time.
func ExampleByName() {
	path := filepath.Join(filepath.Dir(examplePath()), "weights")
	defer os.RemoveAll(filepath.Dir(path))
	f, err := format.ByName("npz")
	if err != nil {
		log.Fatal(err)
	}
	mask, err := tensor.Of("mask", tensor.Shape{2}, []uint8{1, 0})
	if err != nil {
		log.Fatal(err)
	}
	err = format.Save(context.Background(), path, nil, []tensor.View{mask}, &format.WriteOptions{Format: f})
	if err != nil {
		log.Fatal(err)
	}
	m, err := format.Open(path, &format.Options{Format: f}) // of this format only
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()
	fmt.Println(m.Format(), m.Len())
	// Output: npz 1
}

// The formats that the program links.
func ExampleNames() {
	fmt.Println(slices.Contains(format.Names(), "torch"), slices.Contains(format.Writable(), "torch"))
	// Output: true false
}

// What a model says about itself.
func ExampleModel() {
	path := saved("model.mag")
	defer os.RemoveAll(filepath.Dir(path))
	m, err := format.Open(path, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()
	fmt.Println(m.Format(), m.Version(), filepath.Base(m.Path()), len(m.Files()), m.NeedsKey())
	for _, note := range m.Notes() { // none where the file is mapped
		fmt.Fprintln(os.Stderr, note)
	}
	s := m.Stats()
	fmt.Println(s.FileSize, "bytes in files,", s.Kept, "in copies of tensors")
	// Output:
	// mag 1 model.mag 1 false
	// 320 bytes in files, 0 in copies of tensors
}

// Where the tensors lie in a file: what describes them ends, their data begins, and each is aligned.
func ExampleModel_Stats() {
	path := saved("model.gguf")
	defer os.RemoveAll(filepath.Dir(path))
	m, err := format.Open(path, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()
	s := m.Stats()
	fmt.Println(s.HeaderSize, s.DataOffset, s.Alignment)
	fmt.Println(m.At(0).Info().Offset == s.DataOffset)
	// Output:
	// 112 128 32
	// true
}

// One key of the metadata, without decoding the others.
func ExampleModel_Value() {
	var b bytes.Buffer
	p := &schema.Schema{Metadata: schema.Metadata{{Key: "epochs", Value: int64(20)}}}
	w, err := format.NewWriter(&b, p, &format.WriteOptions{Format: gguf.Format{}})
	if err != nil {
		log.Fatal(err)
	}
	if err := w.Close(); err != nil {
		log.Fatal(err)
	}
	m, err := format.OpenBytes(b.Bytes(), nil)
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()
	fmt.Println(m.Value("epochs"))
	_, err = m.Value("no such key")
	fmt.Println(errors.Is(err, format.ErrNotFound))
	// Output:
	// 20 <nil>
	// true
}

// A shard opens as the file that it is, and says of which model it is a part.
func ExampleModel_Part() {
	dir, err := os.MkdirTemp("", "shards")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	p := &schema.Schema{}
	for _, v := range layers() {
		p.Tensors = append(p.Tensors, v.Info())
	}
	w, err := format.Create(filepath.Join(dir, "m.safetensors"), p, &format.WriteOptions{MaxShard: 16})
	if err != nil {
		log.Fatal(err)
	}
	for _, v := range layers() {
		if err := w.WriteView(v); err != nil {
			log.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		log.Fatal(err)
	}

	m, err := format.Open(filepath.Join(dir, "m-00002-of-00002.safetensors"), nil)
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()
	fmt.Println(m.Part())
	fmt.Println(m.Notes())
	// Output:
	// 2 2
	// [part 2 of 2 of a model, which m.safetensors.index.json opens]
}

// Raw slices of several tensors under one guard: Close waits, and a file that is cut short is
// ErrTruncated instead of a crash.
func ExampleModel_Guard() {
	m, err := format.OpenBytes(file("mag"), nil)
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()
	var sum int
	err = m.Guard(func() error {
		for _, v := range m.Tensors() {
			b, err := v.Bytes()
			if err != nil {
				return err
			}
			for _, x := range b {
				sum += int(x)
			}
		}
		return nil
	})
	fmt.Println(sum, err)
	// Output: 957 <nil>
}

// Slices stay valid after Close until they are released.
func ExampleModel_Pin() {
	m, err := format.OpenBytes(file("mag"), nil)
	if err != nil {
		log.Fatal(err)
	}
	unpin, err := m.Pin()
	if err != nil {
		log.Fatal(err)
	}
	b, err := m.At(1).Bytes()
	if err != nil {
		log.Fatal(err)
	}
	m.Close()
	fmt.Printf("% x\n", b)
	unpin() // b is invalid from here on
	// Output: 00 00 00 3f 00 00 80 bf
}

// Which checksum covers what.
func ExampleModel_Verify() {
	m, err := format.OpenBytes(file("mag"), nil)
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()
	c, err := m.Verify(context.Background(), &format.VerifyOptions{
		Tensors:  []string{"fc.bias"}, // nil: all
		Workers:  2,
		Progress: func(done, total int64, part string) {},
	})
	if err != nil {
		log.Fatal(err)
	}
	for _, s := range c.Sections() {
		fmt.Println(s.Name, "by", s.By)
	}
	for t := range c.Tensors() {
		fmt.Println(t.Name, "by", t.By)
	}
	fmt.Println(c)
	for r := range c.Uncovered() {
		fmt.Printf("nothing covers bytes %d to %d\n", r.Offset, r.Offset+r.Size)
	}
	// Output:
	// header and records by crc32c
	// fc.bias by xxh64
	// ok
	// nothing covers bytes 0 to 12
	// nothing covers bytes 172 to 192
	// nothing covers bytes 208 to 256
	// nothing covers bytes 264 to 320
}

// A signed file, whose signer must be the trusted one.
func ExampleVerifyOptions() {
	path := filepath.Join(filepath.Dir(examplePath()), "model.mle")
	defer os.RemoveAll(filepath.Dir(path))
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		log.Fatal(err)
	}
	w, err := format.Create(path, &schema.Schema{}, &format.WriteOptions{Signer: private, Format: mle.Format{}})
	if err != nil {
		log.Fatal(err)
	}
	if err := w.Close(); err != nil {
		log.Fatal(err)
	}

	m, err := format.Open(path, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()
	c, err := m.Verify(context.Background(), &format.VerifyOptions{Trusted: format.TrustKey(public)})
	fmt.Println(m.Signature().Algorithm, c.Signature(), err)
	fmt.Println(m.CheckClaim()) // by the key in the file, which says nothing about who that is

	other, _, err := ed25519.GenerateKey(nil)
	if err != nil {
		log.Fatal(err)
	}
	_, err = m.Verify(context.Background(), &format.VerifyOptions{Trusted: format.TrustKey(other)})
	fmt.Println(errors.Is(err, format.ErrSignature))
	// Output:
	// Ed25519 trusted <nil>
	// <nil>
	// true
}

// A model that is needed soon is read ahead; one that is idle releases its memory.
func ExampleModel_Prefetch() {
	path := saved("model.gguf")
	defer os.RemoveAll(filepath.Dir(path))
	m, err := format.Open(path, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()
	if err := m.Prefetch(context.Background()); err != nil { // returns before the files are read
		log.Fatal(err)
	}
	fmt.Println(tensor.Decode[float32](nil, m.At(1)))
	if err := m.Evict(); err != nil { // views stay valid
		log.Fatal(err)
	}
	// Output: [0.5 -1] <nil>
}

// A graph is written with the model, and read as one form for all formats.
func ExampleModel_Graph() {
	s := &schema.Schema{
		Tensors: []tensor.Info{{Name: "w", DType: tensor.Float32, Shape: tensor.Shape{2, 2}}},
		Graph: &schema.Graph{
			Inputs:  []schema.ValueInfo{{Name: "x", DType: tensor.Float32, Dims: schema.FixedDims(1, 2)}},
			Outputs: []schema.ValueInfo{{Name: "y", DType: tensor.Float32, Dims: schema.FixedDims(1, 2)}},
			Nodes:   []schema.Node{{Op: "MatMul", Inputs: []string{"x", "w"}, Outputs: []string{"y"}}},
		},
	}
	var out bytes.Buffer
	w, err := format.NewWriter(&out, s, &format.WriteOptions{Format: onnx.Format{}})
	if err != nil {
		log.Fatal(err)
	}
	if err := w.WriteTensor("w", bytes.NewReader(make([]byte, 16))); err != nil {
		log.Fatal(err)
	}
	if err := w.Close(); err != nil {
		log.Fatal(err)
	}

	m, err := format.OpenBytes(out.Bytes(), nil)
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()
	g, err := m.Graph()
	if err != nil {
		log.Fatal(err)
	}
	for _, n := range g.Nodes {
		fmt.Println(n.Op, n.Inputs, n.Outputs)
	}
	g = g.Clone() // the model's own graph must not be changed
	g.Name = "mine"
	// Output: MatMul [x w] [y]
}

// What only one format can hold, here the types of GGUF's metadata, is kept by copies within that format.
func ExampleModel_Native() {
	m, err := format.OpenBytes(file("gguf"), nil)
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()
	n, err := m.Native()
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(n.Format, len(n.Kinds))
	// Output: gguf 0
}

// MOBI numbers tensors, and KeepNames stores their names next to the numbers.
func ExampleModel_RestoreNames() {
	var out bytes.Buffer
	s := &schema.Schema{Tensors: []tensor.Info{{Name: "fc.bias", DType: tensor.Int8, Shape: tensor.Shape{3}}}}
	w, err := format.NewWriter(&out, s, &format.WriteOptions{KeepNames: true, AcceptLoss: []string{"name"}, Format: mobi.Format{}})
	if err != nil {
		log.Fatal(err)
	}
	if err := w.WriteTensor("fc.bias", bytes.NewReader([]byte{1, 2, 3})); err != nil {
		log.Fatal(err)
	}
	if err := w.Close(); err != nil {
		log.Fatal(err)
	}

	m, err := format.OpenBytes(out.Bytes(), nil)
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()
	p, err := m.Schema()
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(p.Tensors[0].Name)
	if err := m.RestoreNames(p); err != nil {
		log.Fatal(err)
	}
	fmt.Println(p.Tensors[0].Name)
	// Output:
	// 0
	// fc.bias
}

// A writer takes exactly the bytes of a tensor; after a failure nothing is left at the path.
func ExampleWriter_WriteTensor() {
	path := examplePath()
	defer os.RemoveAll(filepath.Dir(path))
	s := &schema.Schema{Tensors: []tensor.Info{{Name: "w", DType: tensor.Float16, Shape: tensor.Shape{2}}}}
	w, err := format.Create(path, s, nil)
	if err != nil {
		log.Fatal(err)
	}
	err = w.WriteTensor("w", bytes.NewReader([]byte{0, 0x3c, 0})) // a byte is missing
	fmt.Println(errors.Is(err, io.ErrUnexpectedEOF))
	fmt.Println(errors.Is(w.Close(), format.ErrAborted))
	_, err = os.Stat(path)
	fmt.Println(errors.Is(err, os.ErrNotExist))
	// Output:
	// true
	// true
	// true
}

// A value as text, for formats and programs that have strings only.
func ExampleEntry_Text() {
	meta := schema.Metadata{{Key: "epochs", Value: int64(3)}, {Key: "rate", Value: 0.5}}
	v, ok := meta.Get("rate")
	fmt.Println(v, ok)
	for _, e := range meta {
		text, err := e.Text()
		fmt.Printf("%s=%s %v\n", e.Key, text, err)
	}
	// Output:
	// 0.5 true
	// epochs=3 <nil>
	// rate=0.5 <nil>
}

// The header of a file in a registry, without its data.
func ExampleOpenHead() {
	const header = `{"w":{"dtype":"F32","shape":[4],"data_offsets":[0,16]}}     `
	head := append([]byte{byte(len(header)), 0, 0, 0, 0, 0, 0, 0}, header...)
	m, err := format.OpenHead(head, 0, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()
	for name, v := range m.Tensors() {
		_, err := v.Bytes()
		fmt.Println(name, v.DType(), v.Shape(), errors.Is(err, format.ErrTruncated))
	}
	// Output: w float32 [4] true
}
