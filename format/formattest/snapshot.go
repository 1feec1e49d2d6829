package formattest

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/tensor"
)

// snapshot is the full content of a model.
type snapshot struct {
	Format, Version string
	Plan            *format.Plan
	Data            map[string][]byte
}

// compared are the options for comparing snapshots: floating-point numbers by their bits, views by
// content, nil slices as empty.
var compared = cmp.Options{
	cmpopts.EquateEmpty(),
	cmp.Comparer(func(a, b float64) bool { return math.Float64bits(a) == math.Float64bits(b) }),
	cmp.Comparer(func(a, b float32) bool { return math.Float32bits(a) == math.Float32bits(b) }),
	cmp.Comparer(sameView),
	cmp.Comparer(sameEncoding),
}

// sameEncoding compares all fields but the functions.
func sameEncoding(a, b *tensor.Encoding) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Name == b.Name && a.BlockElems == b.BlockElems && a.BlockBytes == b.BlockBytes
}

// sameView compares tensors in attributes of a graph.
func sameView(a, b tensor.View) bool {
	x, errA := a.Bytes()
	y, errB := b.Bytes()
	return errA == nil && errB == nil && a.Name() == b.Name() && a.DType() == b.DType() &&
		a.Shape().Equal(b.Shape()) && bytes.Equal(x, y)
}

// take reads all of m; tensors in attributes of its graph are valid until m is closed. byPath says that m was
// opened by its path.
func (x *subject) take(m *format.Model, byPath bool) (*snapshot, error) {
	s := &snapshot{Format: m.Format(), Version: m.Version(), Data: map[string][]byte{}}
	plan, err := planOf(m)
	if err != nil {
		return nil, err
	}
	for _, v := range m.Tensors() {
		name := x.nameOf(v.Name(), byPath)
		b, err := v.Bytes()
		if err != nil {
			return nil, err
		}
		s.Data[name] = bytes.Clone(b)
	}
	for i := range plan.Tensors {
		plan.Tensors[i].Name = x.nameOf(plan.Tensors[i].Name, byPath)
	}
	s.Plan = x.neutral(plan)
	return s, nil
}

// nameOf returns the name a tensor was written under: if the format takes names from the path, and
// m has none, the plan's name.
func (x *subject) nameOf(name string, byPath bool) string {
	if x.cfg.NamesFromPath && !byPath && len(x.s.Plan.Tensors) == 1 {
		return x.s.Plan.Tensors[0].Name
	}
	return name
}

// neutral removes from a plan what need not survive a round trip.
func (x *subject) neutral(p *format.Plan) *format.Plan {
	c := &format.Plan{Metadata: slices.Clone(p.Metadata), Graph: p.Graph}
	for _, t := range p.Tensors {
		c.Tensors = append(c.Tensors, tensor.Info{Name: t.Name, DType: t.DType, Shape: t.Shape, Quant: t.Quant, Encoding: t.Encoding})
	}
	if x.cfg.Reorders {
		slices.SortStableFunc(c.Tensors, func(a, b tensor.Info) int { return strings.Compare(a.Name, b.Name) })
	}
	if x.cfg.Neutral != nil {
		c = x.cfg.Neutral(c)
	}
	return c
}

// diff describes how got differs from want; "" if they are equal.
func (x *subject) diff(want, got *snapshot) string {
	if want.Format != got.Format || want.Version != got.Version {
		return fmt.Sprintf("%s %s, want %s %s", got.Format, got.Version, want.Format, want.Version)
	}
	if d := cmp.Diff(want.Plan, got.Plan, compared); d != "" {
		return "(-want +got)\n" + d
	}
	for _, t := range want.Plan.Tensors {
		if d := x.diffData(t, want.Data[t.Name], got.Data[t.Name]); d != "" {
			return d
		}
	}
	if len(want.Data) != len(got.Data) {
		return fmt.Sprintf("%d tensors have data, want %d", len(got.Data), len(want.Data))
	}
	return ""
}

// diffData compares the bytes of one tensor.
func (x *subject) diffData(t tensor.Info, want, got []byte) string {
	if x.s.Lossy != nil && len(want) == len(got) {
		if err := x.s.Lossy(t, want, got); err != nil {
			return fmt.Sprintf("tensor %q: %v", t.Name, err)
		}
		return ""
	}
	if !bytes.Equal(want, got) {
		return fmt.Sprintf("tensor %q: %d bytes differ from the %d expected, at %d", t.Name, len(got), len(want), firstDiff(want, got))
	}
	return ""
}

// firstDiff returns the first index at which a and b differ.
func firstDiff(a, b []byte) int {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return i
		}
	}
	return min(len(a), len(b))
}

// planOf is format.PlanOf without what is private to the format.
func planOf(m *format.Model) (*format.Plan, error) {
	p, err := format.PlanOf(m)
	if err == nil {
		p.Native = nil
	}
	return p, err
}
