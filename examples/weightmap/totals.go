package main

import (
	"fmt"
	"math/big"

	"github.com/weightmap/weightmap/examples/internal/cli"
	"github.com/weightmap/weightmap/tensor"
)

// sums are what tensors add up to. Many may share their bytes, so it can be more than
// an int64 holds.
type sums struct {
	parameters, size *big.Int
	dtypes           []string // in order of appearance
	shares           map[string]*share
}

// share is what the tensors of a group take.
type share struct {
	tensors int
	size    *big.Int
}

func (r *report) sums() *sums {
	s := &sums{parameters: new(big.Int), size: new(big.Int)}
	for _, t := range r.Tensors {
		n, _ := tensor.Shape(t.Shape).Elems()
		s.parameters.Add(s.parameters, big.NewInt(n))
		s.size.Add(s.size, big.NewInt(t.Bytes))
	}
	s.dtypes, s.shares = r.shares(func(t *tensorReport) string { return t.DType })
	return s
}

// shares adds up the tensors of each group. The groups are in order of appearance.
func (r *report) shares(group func(*tensorReport) string) (groups []string, shares map[string]*share) {
	shares = map[string]*share{}
	for i := range r.Tensors {
		t := &r.Tensors[i]
		name := group(t)
		of := shares[name]
		if of == nil {
			of = &share{size: new(big.Int)}
			shares[name] = of
			groups = append(groups, name)
		}
		of.tensors++
		of.size.Add(of.size, big.NewInt(t.Bytes))
	}
	return groups, shares
}

// totals shows the sums of the tensors that are shown.
func (r *report) totals() string {
	s := r.sums()
	unit := "parameters"
	if s.parameters.Cmp(big.NewInt(1)) == 0 {
		unit = "parameter"
	}
	line := fmt.Sprintf("%s, %s %s, %s", r.shown(), cli.Grouped(s.parameters), unit, bigSize(s.size))
	for i, d := range s.dtypes {
		separator := ", "
		if i == 0 {
			separator = ": "
		}
		line += separator + d + " " + bigSize(s.shares[d].size)
	}
	return line
}

// shown says how many tensors are shown.
func (r *report) shown() string {
	if r.all > len(r.Tensors) {
		return fmt.Sprintf("%s of %s", cli.Grouped(len(r.Tensors)), cli.Count(r.all, "tensor"))
	}
	return cli.Count(r.all, "tensor")
}

// bigSize shows a size, which may be huge where many tensors share their bytes.
func bigSize(n *big.Int) string {
	if !n.IsInt64() {
		return cli.Grouped(n) + " bytes"
	}
	return cell(n.Int64())
}
