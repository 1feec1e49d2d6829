package bench

import (
	"archive/zip"
	"context"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/weightmap/weightmap/format"
)

// gpt2Trained has as many numbers as GPT-2: 548 MB.
var gpt2Trained = uniform("gpt2", 148, 925_600)

// usual adds the formats that people have, with a model of 548 MB. No specification promises
// anything for them: a header must be parsed in a millisecond, and loading all weights into the
// caller's memory may take little more than reading the file with read(2).
func (t *targets) usual() {
	for _, f := range []struct {
		name  string
		write writing
	}{
		{"safetensors", writeUsual("safetensors")},
		{"gguf", writeUsual("gguf")},
		{"pt", writePT},
	} {
		file := t.file("gpt2."+f.name, f.write)
		t.add(row{name: f.name + ": open a model of 548 MB", limit: 1, unit: "ms",
			measure: timed(file, opening)})
		t.add(row{name: f.name + ": load it into memory, relative to reading the file",
			limit: 1.15, unit: "x",
			measure: func(b *testing.B) figure { return loadingInto(b, file(b)) }})
	}
}

func writeUsual(name string) writing {
	return func(_ *testing.B, path string) error {
		_, err := Write(name, path, gpt2Trained, noSync)
		return err
	}
}

// loadingInto measures Model.Load of all tensors, relative to reading the file with as many
// goroutines.
func loadingInto(b *testing.B, path string) figure {
	const workers = 2
	m := opened(b, path)
	dst := make([]byte, m.Stats().FileSize)
	var requests []format.Request
	at := int64(0)
	for _, v := range m.Tensors() {
		requests = append(requests, format.Request{Tensor: v.Name(), Bytes: dst[at:][:v.Size()]})
		at += v.Size()
	}
	f := alternate(b,
		func() error { return m.Load(context.Background(), requests, nil) },
		func() error { return pread(path, workers, dst) })
	return figure{f[0].best / f[1].best, f[0].median / f[1].median}
}

// writePT writes what torch.save writes of a dict of tensors: an archive with a pickle, and the
// bytes of each storage at a multiple of 64.
func writePT(_ *testing.B, path string) (err error) {
	p, data := gpt2Trained.Schema()
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	out := &countingWriter{w: f}
	z := zip.NewWriter(out)
	add := func(name string, content []byte) {
		if err != nil {
			return
		}
		err = z.Flush()
		if err != nil {
			return
		}
		const head = 30
		h := &zip.FileHeader{Name: name, Method: zip.Store, CRC32: crc32.ChecksumIEEE(content)}
		h.CompressedSize64 = uint64(len(content))
		h.UncompressedSize64 = uint64(len(content))
		padding := 63 - (out.n+head+int64(len(name))+4+63)%64
		h.Extra = append([]byte{'F', 'B', byte(padding), 0}, make([]byte, padding)...)
		w, failed := z.CreateRaw(h)
		if failed != nil {
			err = failed
			return
		}
		_, err = w.Write(content)
	}
	var pickle strings.Builder
	pickle.WriteString("\x80\x02}(")
	for i := range p.Tensors {
		t := &p.Tensors[i]
		pickle.WriteString(pickled(t.Name, fmt.Sprint(i), t.Shape[0]))
	}
	pickle.WriteString("u.")
	add("gpt2/data.pkl", []byte(pickle.String()))
	rest := data
	for i := range p.Tensors {
		size := p.Tensors[i].Size
		if int64(len(rest)) < size {
			rest = data
		}
		add(fmt.Sprintf("gpt2/data/%d", i), rest[:size])
		rest = rest[size:]
	}
	add("gpt2/version", []byte("3\n"))
	if err != nil {
		return err
	}
	return z.Close()
}

// pickled returns the pickle of a float32 tensor with one axis of n numbers, in the storage with a
// key.
func pickled(name, key string, n int64) string {
	text := func(s string) string { return "X" + string([]byte{byte(len(s)), 0, 0, 0}) + s }
	elems := "J" + string([]byte{byte(n), byte(n >> 8), byte(n >> 16), byte(n >> 24)})
	storage := text("storage") + "ctorch\nFloatStorage\n" + text(key) + text("cpu") + elems + "tQ"
	return text(name) + "ctorch._utils\n_rebuild_tensor_v2\n((" + storage + "K\x00" +
		elems + "\x85K\x01\x85\x89ccollections\nOrderedDict\n)RtR"
}

// countingWriter counts what is written.
type countingWriter struct {
	w io.Writer
	n int64
}

func (c *countingWriter) Write(b []byte) (int, error) {
	n, err := c.w.Write(b)
	c.n += int64(n)
	return n, err
}
