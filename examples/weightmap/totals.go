package main

import (
	"fmt"
	"math/big"
	"regexp"
	"strings"

	"github.com/weightmap/weightmap/examples/internal/cli"
	"github.com/weightmap/weightmap/tensor"
)

// globPattern compiles a pattern for tensor names, in which * is any text and ? any
// character. Names are no paths: a dot or slash is a character as all others.
func globPattern(glob string) *regexp.Regexp {
	text := regexp.QuoteMeta(glob)
	text = strings.NewReplacer(`\*`, ".*", `\?`, ".").Replace(text)
	return regexp.MustCompile(`(?s)\A` + text + `\z`)
}

// totals sums up the tensors that are shown.
func (r *report) totals() string {
	parameters, size := new(big.Int), new(big.Int)
	shares := map[string]*big.Int{}
	var dtypes []string // in order of appearance
	for _, t := range r.Tensors {
		n, _ := tensor.Shape(t.Shape).Elems()
		parameters.Add(parameters, big.NewInt(n))
		size.Add(size, big.NewInt(t.Bytes))
		if shares[t.DType] == nil {
			shares[t.DType] = new(big.Int)
			dtypes = append(dtypes, t.DType)
		}
		shares[t.DType].Add(shares[t.DType], big.NewInt(t.Bytes))
	}
	line := cli.Count(len(r.Tensors), "tensor")
	if r.all > len(r.Tensors) {
		line = fmt.Sprintf("%d of %s", len(r.Tensors), cli.Count(r.all, "tensor"))
	}
	unit := "parameters"
	if parameters.Cmp(big.NewInt(1)) == 0 {
		unit = "parameter"
	}
	line += fmt.Sprintf(", %v %s, %s", parameters, unit, bigSize(size))
	for i, d := range dtypes {
		separator := ", "
		if i == 0 {
			separator = ": "
		}
		line += separator + d + " " + bigSize(shares[d])
	}
	return line
}

// bigSize shows a size, which may be huge where many tensors share their bytes.
func bigSize(n *big.Int) string {
	if !n.IsInt64() {
		return n.String() + " bytes"
	}
	return cell(n.Int64())
}
