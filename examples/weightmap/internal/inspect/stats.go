package inspect

import (
	"errors"
	"fmt"
	"math"

	"github.com/weightmap/weightmap/examples/cli"
	"github.com/weightmap/weightmap/examples/weightmap/internal/modelfile"
	"github.com/weightmap/weightmap/tensor"
)

// statistics describes the values of a tensor after dequantization. Values are float64, which
// rounds large integers.
type statistics struct {
	Min      *float64 `json:"min"` // of the finite values; null if there are none
	Max      *float64 `json:"max"`
	Mean     *float64 `json:"mean"` // also null if their sum overflows float64
	Zeros    int64    `json:"zeros"`
	NaN      int64    `json:"nan"`
	Infinite int64    `json:"infinite"`
}

// statisticsOf reads a tensor in pieces. It returns nil if the elements are not real numbers or
// cannot be decoded.
func statisticsOf(d *modelfile.TensorReader, v tensor.View) (*statistics, error) {
	info := v.Info()
	if !modelfile.Decodable(&info) || info.DType == tensor.Complex64 {
		return nil, nil
	}
	s := &statistics{}
	r := &modelfile.Reader{V: v, D: d}
	lowest := math.Inf(1)
	highest := math.Inf(-1)
	sum := 0.0
	finite := int64(0)
	for p := range modelfile.Pieces(info.Shape) {
		values, err := r.Read(p)
		if errors.Is(err, tensor.ErrQuantization) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		for _, x := range values {
			switch {
			case math.IsNaN(x):
				s.NaN++
				continue
			case math.IsInf(x, 0):
				s.Infinite++
				continue
			case x == 0:
				s.Zeros++
			}
			finite++
			sum += x
			lowest = min(lowest, x)
			highest = max(highest, x)
		}
	}
	if finite > 0 {
		s.Min = &lowest
		s.Max = &highest
		if mean := sum / float64(finite); !math.IsInf(mean, 0) && !math.IsNaN(mean) {
			s.Mean = &mean
		}
	}
	return s, nil
}

// cells returns the cells for the table, empty for nil.
func (s *statistics) cells() []string {
	if s == nil {
		return make([]string, 6)
	}
	return []string{number(s.Min), number(s.Max), number(s.Mean), cli.Grouped(s.Zeros),
		cli.Grouped(s.NaN), cli.Grouped(s.Infinite)}
}

// number formats x with four digits, nil as "-".
func number(x *float64) string {
	if x == nil {
		return "-"
	}
	return fmt.Sprintf("%.4g", *x)
}
