package inspect

import (
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/weightmap/weightmap/examples/cli"
	"github.com/weightmap/weightmap/examples/weightmap/internal/modelfile"
	"github.com/weightmap/weightmap/tensor"
)

// Limits of histograms.
const (
	mostHistograms = 12
	bins           = 48
	sampledPieces  = 16 // a million values

	histogramWidth, histogramHeight = 240, 72
)

// histogram shows the distribution of a tensor's values.
type histogram struct {
	Name, Label  string
	Shape, Range string
	Path         string // SVG path of the bars
	About        string
}

// histogramOf samples a tensor. It returns nil if there are no finite values or the elements are
// not real numbers.
func histogramOf(d *modelfile.TensorReader, v tensor.View) (*histogram, error) {
	info := v.Info()
	if !modelfile.Decodable(&info) || info.DType == tensor.Complex64 {
		return nil, nil
	}
	v, err := d.Tensor(v)
	if err != nil {
		return nil, err
	}
	values, lowest, highest, err := sampleOf(d, v)
	switch {
	case errors.Is(err, tensor.ErrQuantization): // not decodable
		return nil, nil
	case err != nil || len(values) == 0:
		return nil, err
	}
	h := &histogram{Shape: TensorType(v), Range: fmt.Sprintf("%.3g to %.3g", lowest, highest)}
	h.About = cli.Count(len(values), "value")
	if n := v.Elems(); n > int64(len(values)) {
		h.About = fmt.Sprintf("%s of %s values", cli.Grouped(len(values)), cli.Grouped(n))
	}
	h.Path = bars(values, lowest, highest)
	return h, nil
}

// sampleOf returns the finite values of evenly spread pieces of a tensor, and their range.
func sampleOf(d *modelfile.TensorReader,
	v tensor.View) (values []float64, lowest, highest float64, err error) {
	r := &modelfile.Reader{V: v, D: d}
	lowest = math.Inf(1)
	highest = math.Inf(-1)
	step := max(1, (v.Elems()/modelfile.PieceElems+sampledPieces)/sampledPieces)
	at := int64(-1)
	for p := range modelfile.Pieces(v.Shape()) {
		if at++; at%step != 0 {
			continue
		}
		if len(values) > sampledPieces*modelfile.PieceElems {
			break // odd shapes have smaller and more pieces
		}
		read, err := r.Read(p)
		if err != nil {
			return nil, 0, 0, err
		}
		for _, x := range read {
			if !math.IsNaN(x) && !math.IsInf(x, 0) {
				values = append(values, x)
				lowest = min(lowest, x)
				highest = max(highest, x)
			}
		}
	}
	return values, lowest, highest, nil
}

// bars returns the SVG path of the bars.
func bars(values []float64, lowest, highest float64) string {
	var counts [bins]int
	most := 0
	for _, x := range values {
		// Halve first: the range may overflow float64.
		share := 0.5
		if width := highest/2 - lowest/2; width > 0 {
			share = (x/2 - lowest/2) / width
		}
		bin := min(int(share*bins), bins-1)
		counts[bin]++
		most = max(most, counts[bin])
	}
	var path strings.Builder
	const width = float64(histogramWidth) / bins
	for i, n := range counts {
		if n == 0 {
			continue
		}
		height := max(float64(n)/float64(most)*histogramHeight, 1)
		fmt.Fprintf(&path, "M%.1f %dv-%.1fh%.1fv%.1fz", float64(i)*width, histogramHeight, height,
			width-0.8, height)
	}
	return path.String()
}
