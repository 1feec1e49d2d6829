package convert

import (
	"cmp"
	"fmt"
	"io"

	"github.com/cespare/xxhash/v2"
	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/lowbit"
	"github.com/weightmap/weightmap/internal/readonce"
	"github.com/weightmap/weightmap/internal/target"
	"github.com/weightmap/weightmap/internal/work"
	"github.com/weightmap/weightmap/tensor"
)

// verify compares the target with the written data.
func (j *job) verify() error {
	path := j.path
	if len(j.report.Files) > 0 {
		path = j.report.Files[0]
	}
	m, err := format.Open(path, j.rereading())
	if err != nil {
		return err
	}
	defer m.Close()
	j.read = readonce.New(m)
	if m.Len() != len(j.items) {
		return located(m, "", fmt.Errorf("%w: %d tensors, %d were written", format.ErrCorrupt, m.Len(), len(j.items)))
	}
	progress := work.Progress{Report: j.target.Progress}
	for _, it := range j.items {
		progress.Expect(it.size())
	}
	missing := j.byName()
	renamed := make(map[string]int) // contents of tensors whose names the target replaced
	for name, v := range m.Tensors() {
		it := missing[name]
		got, err := j.contentOf(v, it)
		switch {
		case err != nil:
			return err
		case it == nil:
			renamed[got]++
		case got != it.content():
			return named(m, name, fmt.Errorf("%w: it holds %s, %s was written", format.ErrChecksum, got, it.content()))
		}
		delete(missing, name)
		if it != nil {
			progress.Done(it.size(), name)
		}
	}
	for _, it := range j.items {
		if missing[it.to.Name] == nil {
			continue
		}
		if renamed[it.content()]--; renamed[it.content()] < 0 {
			return named(m, it.to.Name, fmt.Errorf("%w: no tensor holds %s", format.ErrChecksum, it.content()))
		}
	}
	return nil
}

// content describes what was written of a tensor, apart from its name.
func (it *item) content() string { return content(it.to.TypeName(), it.to.Shape, it.sum) }

func content(typeName string, shape tensor.Shape, sum uint64) string {
	return fmt.Sprintf("%s %v with XXH64 %016x", lowbit.Type(typeName), []int64(shape), sum)
}

// contentOf reads a tensor of the target in pieces. it is what was written under its name, or nil.
func (j *job) contentOf(v tensor.View, it *item) (string, error) {
	v, err := j.read.Tensor(v)
	if err != nil {
		return "", err
	}
	info, h := v.Info(), xxhash.New()
	switch { // formats may return quantized tensors as real numbers
	case it == nil || it.to.Quant == nil || v.DType() != tensor.Float32:
	case it.z == nil:
		source, err := j.sumOf(item{from: it.from, to: info})
		target, failed := j.sumOf(item{from: v, to: info})
		if err = cmp.Or(err, failed); err != nil || target == source {
			return it.content(), err
		}
	default: // quantize them again
		if _, err := it.z.Parameters(); err != nil { // restarts the quantizer
			return "", err
		}
		sum, err := j.sumOf(item{from: v, to: it.to, z: it.z})
		return content(it.to.TypeName(), info.Shape, sum), err
	}
	err = target.EachPiece(j.ctx, v, func(b []byte) error {
		_, _ = h.Write(b)
		j.read.Used(int64(len(b)))
		return nil
	})
	if err != nil {
		return "", err
	}
	return content(info.TypeName(), info.Shape, h.Sum64()), nil
}

// sumOf returns the checksum of a tensor after conversion.
func (j *job) sumOf(it item) (uint64, error) {
	h := xxhash.New()
	_, err := io.Copy(h, j.start(&it))
	return h.Sum64(), err
}
