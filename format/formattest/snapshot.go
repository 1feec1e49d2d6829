package formattest

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/cespare/xxhash/v2"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/tensor"
)

// snapshot is the full content of a model.
type snapshot struct {
	Format, Version string
	Schema          *schema.Schema
	Data            map[string]string
}

// compared are the options for comparing snapshots: floating-point numbers by their bits, views by
// content, nil slices as empty, encodings by name and block size.
var compared = cmp.Options{
	cmpopts.EquateEmpty(),
	cmp.Comparer(func(a, b float64) bool { return math.Float64bits(a) == math.Float64bits(b) }),
	cmp.Comparer(func(a, b float32) bool { return math.Float32bits(a) == math.Float32bits(b) }),
	cmp.Comparer(sameView),
	cmpopts.IgnoreFields(tensor.Encoding{}, "Decode", "Encode", "Flat", "Format"),
}

// sameView compares tensors in attributes of a graph.
func sameView(a, b tensor.View) bool {
	x, errA := a.Bytes()
	y, errB := b.Bytes()
	return errA == nil && errB == nil && a.Name() == b.Name() && a.DType() == b.DType() &&
		a.Shape().Equal(b.Shape()) && bytes.Equal(x, y)
}

// take reads all of m; tensors in attributes of its graph are valid until m is closed. Digest,
// which need not hold a whole tensor in memory, must agree with Bytes.
func (x *subject) take(m *format.Model) (*snapshot, error) {
	s := &snapshot{Format: m.Format(), Version: m.Version(), Data: map[string]string{}}
	content, err := schemaOf(m)
	if err != nil {
		return nil, err
	}
	for _, v := range m.Tensors() {
		name := x.nameOf(v.Name())
		b, err := v.Bytes()
		if err != nil {
			return nil, err
		}
		if sum, err := v.Digest(); err != nil || sum != xxhash.Sum64(b) {
			return nil, fmt.Errorf("tensor %q: Digest = %x, %w", name, sum, err)
		}
		s.Data[name] = string(b)
	}
	s.Schema = x.neutral(content)
	return s, nil
}

// nameOf returns the name of a tensor to compare: none if it comes from the path.
func (x *subject) nameOf(name string) string {
	if x.cfg.NamesFromPath {
		return ""
	}
	return name
}

// neutral removes from a schema what need not survive a round trip.
func (x *subject) neutral(p *schema.Schema) *schema.Schema {
	c := &schema.Schema{
		Metadata: slices.Clone(p.Metadata), Graph: p.Graph, Docs: unnamed(p.Docs),
	}
	for _, t := range p.Tensors {
		c.Tensors = append(c.Tensors, tensor.Info{Name: x.nameOf(t.Name), DType: t.DType, Shape: t.Shape, Quant: t.Quant, Encoding: t.Encoding})
	}
	if x.cfg.Reorders {
		slices.SortStableFunc(c.Tensors, func(a, b tensor.Info) int { return strings.Compare(a.Name, b.Name) })
	}
	if x.cfg.Neutral != nil {
		c = x.cfg.Neutral(c)
	}
	return c
}

// unnamed returns docs without the names of the parts, which only readers know.
func unnamed(docs []schema.Doc) []schema.Doc {
	docs = slices.Clone(docs)
	for i := range docs {
		docs[i].Name = ""
	}
	return docs
}

// differs reports how a model differs from the one read from the intact file.
func (x *subject) differs(t *testing.T, what string, m *format.Model) {
	t.Helper()
	got, err := x.take(m)
	if err != nil {
		t.Errorf("%s: it opens and verifies, but reading fails: %v", what, err)
	} else if d := cmp.Diff(x.want, got, compared); d != "" {
		t.Errorf("%s: (-want +got)\n%s", what, d)
	}
}

// planOf is format.Model.Schema without what is private to the format.
func schemaOf(m *format.Model) (*schema.Schema, error) {
	p, err := m.Schema()
	if err == nil {
		p.Native = nil
	}
	return p, err
}
