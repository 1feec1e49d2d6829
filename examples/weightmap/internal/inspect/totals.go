package inspect

import (
	"fmt"
	"math/big"

	"github.com/weightmap/weightmap/examples/cli"
	"github.com/weightmap/weightmap/tensor"
)

// sums holds totals of tensors. Since tensors may share bytes, they can exceed int64.
type sums struct {
	parameters, size *big.Int
	dtypes           []string // in order of appearance
	shares           map[string]*share
}

// share is the total of a group of tensors.
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

// shares returns the totals of each group. Groups are in order of first appearance.
func (r *report) shares(
	group func(*tensorReport) string) (groups []string, shares map[string]*share) {
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

// totals formats the totals of the tensors shown.
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

// bigSize formats a size, which may be huge if tensors share bytes.
func bigSize(n *big.Int) string {
	if !n.IsInt64() {
		return cli.Grouped(n) + " bytes"
	}
	return cell(n.Int64())
}
