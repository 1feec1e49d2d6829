package convert

import (
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
	c := &comparison{j: j, read: reader{j.ctx, readonce.New(m)}}
	c.streams = newStreams(j, c.read)
	defer c.streams.close()
	if m.Len() != len(j.plan.items) {
		return located(m, "", fmt.Errorf("%w: %d tensors, %d were written", format.ErrCorrupt, m.Len(),
			len(j.plan.items)))
	}
	progress := work.Progress{Report: j.target.Progress}
	for _, it := range j.plan.items {
		progress.Expect(it.size())
	}
	missing := j.plan.byName()
	renamed := make(map[string]int) // contents of tensors whose names the target replaced
	for name, v := range m.Tensors() {
		it := missing[name]
		got, err := c.contentOf(v, it)
		switch {
		case err != nil:
			return err
		case it == nil:
			renamed[got]++
		case got != it.content():
			return named(m, name, fmt.Errorf("%w: it holds %s, %s was written", format.ErrChecksum, got,
				it.content()))
		}
		delete(missing, name)
		if it != nil {
			progress.Done(it.size(), name)
		}
	}
	for _, it := range j.plan.items {
		if missing[it.to.Name] == nil {
			continue
		}
		renamed[it.content()]--
		if renamed[it.content()] < 0 {
			return named(m, it.to.Name, fmt.Errorf("%w: no tensor holds %s", format.ErrChecksum,
				it.content()))
		}
	}
	return nil
}

// comparison reads the target again.
type comparison struct {
	j       *job
	read    reader // of the target
	streams *streams
}

// content describes what was written of a tensor, apart from its name.
func (it *item) content() string { return content(it.to.TypeName(), it.to.Shape, it.sum) }

func content(typeName string, shape tensor.Shape, sum uint64) string {
	return fmt.Sprintf("%s %v with XXH64 %016x", lowbit.Type(typeName), []int64(shape), sum)
}

// contentOf reads a tensor of the target in pieces. it is what was written under its name, or nil.
func (c *comparison) contentOf(v tensor.View, it *item) (string, error) {
	v, err := c.read.Tensor(v)
	if err != nil {
		return "", err
	}
	info := v.Info()
	h := xxhash.New()
	switch { // formats may return quantized tensors as real numbers
	case it == nil || it.to.Quant == nil || v.DType() != tensor.Float32:
	case it.z == nil:
		source, err := c.sumOf(item{from: it.from, to: info})
		if err != nil {
			return "", err
		}
		target, err := c.sumOf(item{from: v, to: info})
		if err != nil {
			return "", err
		}
		if target == source {
			return it.content(), nil
		}
	default: // quantize them again
		_, err := it.z.Parameters() // restarts the quantizer
		if err != nil {
			return "", err
		}
		sum, err := c.sumOf(item{from: v, to: it.to, z: it.z})
		return content(it.to.TypeName(), info.Shape, sum), err
	}
	err = target.EachPiece(c.j.ctx, v, func(b []byte) error {
		_, _ = h.Write(b)
		c.read.Used(int64(len(b)))
		return nil
	})
	if err != nil {
		return "", err
	}
	return content(info.TypeName(), info.Shape, h.Sum64()), nil
}

// sumOf returns the checksum of a tensor after conversion.
func (c *comparison) sumOf(it item) (uint64, error) {
	h := xxhash.New()
	_, err := io.Copy(h, c.streams.start(&it))
	return h.Sum64(), err
}
