package convert

import (
	"errors"
	"fmt"
	"io"

	"github.com/cespare/xxhash/v2"
	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/readonce"
	"github.com/weightmap/weightmap/tensor"
)

// verify compares the target with the written data.
func (j *job) verify() error {
	read := j.o.reading(j.o.To)
	read.Trusted = nil // applies to the source
	if j.o.Storage.Key != nil {
		read.Key = j.o.Storage.Key
	}
	path := j.path
	if len(j.report.Files) > 0 {
		path = j.report.Files[0]
	}
	m, err := format.Open(path, read)
	if err != nil {
		return err
	}
	defer m.Close()
	j.read = readonce.New(m)
	if m.Len() != len(j.items) {
		return located(m, "", fmt.Errorf("%w: %d tensors, %d were written", format.ErrCorrupt, m.Len(), len(j.items)))
	}
	names := make(map[string]bool, len(j.items))
	for _, it := range j.items {
		names[it.to.Name] = true
	}
	renamed := make(map[string]int) // contents of tensors whose names the target replaced
	for name, v := range m.Tensors() {
		if !names[name] {
			c, err := j.contentOf(v)
			if err != nil {
				return err
			}
			renamed[c]++
		}
	}
	for _, it := range j.items {
		want := content(it.to.TypeName(), it.to.Shape, it.sum)
		v, err := m.Tensor(it.to.Name)
		if errors.Is(err, format.ErrNotFound) {
			if renamed[want]--; renamed[want] < 0 {
				return named(m, it.to.Name, fmt.Errorf("%w: no tensor holds %s", format.ErrChecksum, want))
			}
			continue
		}
		if err != nil {
			return err
		}
		got, err := j.contentOf(v)
		if err == nil && it.z != nil && it.to.Quant != nil && v.DType() == tensor.Float32 {
			got, err = j.integersOf(it, v)
		}
		if err != nil {
			return err
		}
		if got != want {
			return named(m, it.to.Name, fmt.Errorf("%w: it holds %s, %s was written", format.ErrChecksum, got, want))
		}
	}
	return nil
}

// integersOf returns the content of a quantized tensor in a format that returns it as float32.
func (j *job) integersOf(it *item, v tensor.View) (string, error) {
	if _, err := it.z.Parameters(); err != nil { // restarts the quantizer
		return "", err
	}
	again, h := *it, xxhash.New()
	again.from = v
	if _, err := io.Copy(h, j.start(&again)); err != nil {
		return "", err
	}
	return content(it.to.TypeName(), v.Shape(), h.Sum64()), nil
}

// content describes a tensor apart from its name.
func content(typeName string, shape tensor.Shape, sum uint64) string {
	return fmt.Sprintf("%s %v with XXH64 %016x", typeName, []int64(shape), sum)
}

// contentOf reads a tensor in pieces.
func (j *job) contentOf(v tensor.View) (string, error) {
	v, err := j.read.Tensor(v)
	if err != nil {
		return "", err
	}
	info, h := v.Info(), xxhash.New()
	r := io.NewSectionReader(v, 0, info.Size)
	for {
		if err := j.o.Context.Err(); err != nil {
			return "", err
		}
		n, err := io.CopyN(h, r, 1<<20)
		j.read.Used(n)
		switch {
		case err == io.EOF:
			return content(info.TypeName(), info.Shape, h.Sum64()), nil
		case err != nil:
			return "", err
		}
	}
}
