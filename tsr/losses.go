package tsr

import (
	"fmt"
	"math"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/tensor"
)

// losses lists what neither a file nor a directory can hold.
func losses(p *driver.Plan, l *driver.LossList) {
	l.TensorsOnly(p, "TSR")
	l.DTypes(p, "TSR", dtypes)
	for i := range p.Tensors {
		t := &p.Tensors[i]
		if err := checkShape(t.Shape); err != nil {
			l.Fixed(driver.LossShape, t.Name, err)
		}
	}
	if len(p.Tensors) == 0 {
		l.Fixed(driver.LossTensors, "", fmt.Errorf("%w: there are none", format.ErrUnsupported))
	}
}

// checkShape refuses shapes that do not fit the header.
func checkShape(s tensor.Shape) error {
	if len(s) > maxRank {
		return fmt.Errorf("%w: shape %v has more than 4 dims", format.ErrUnsupported, s)
	}
	for _, d := range s {
		if d > math.MaxInt32 {
			return fmt.Errorf("%w: dim %d does not fit 32 bits", format.ErrUnsupported, d)
		}
	}
	return nil
}

// fileLosses adds what one file cannot hold.
func fileLosses(p *driver.Plan, l *driver.LossList) {
	losses(p, l)
	if n := len(p.Tensors); n > 1 {
		l.Fixed(driver.LossTensors, "", fmt.Errorf("%w: %d: one file holds one tensor", format.ErrUnsupported, n))
	}
}

// dirLosses adds the names that cannot be those of files.
func dirLosses(p *driver.Plan, l *driver.LossList) {
	losses(p, l)
	_, changed := fileNames(p.Tensors)
	for _, c := range changed {
		l.Renamed(p, c.tensor, "not usable as a file name: "+c.why)
	}
}
