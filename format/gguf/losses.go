package gguf

import (
	"fmt"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/tensor"
)

// losses lists what a file cannot hold.
func losses(p *driver.Plan, l *driver.LossList) {
	l.AllQuantization(p, "GGUF has no quantization parameters beside the data")
	l.AnyGraph(p, "GGUF has no graph")
	was := originals(p)
	l.UniqueMetadata(p, func(_ int, e driver.Entry) error { return checkEntry(e, was) })
	for i := range p.Tensors {
		t := &p.Tensors[i]
		if _, ok := codeIn(p, t); !ok {
			l.Fixed(driver.LossDType, t.Name, fmt.Errorf("%w: %s elements (GGUF has float16, bfloat16, float32, float64, int8 to int64, and its blocks)", format.ErrUnsupported, t.TypeName()))
		}
		if len(t.Shape) > maxRank {
			l.Fixed(driver.LossShape, t.Name, fmt.Errorf("%w: shape %v has more than %d dims", format.ErrUnsupported, t.Shape, maxRank))
		}
	}
}

// checkEntry refuses what would not be read back as it is.
func checkEntry(e driver.Entry, was map[string]entry) error {
	if err := tensor.CheckName(e.Key); err != nil {
		return fmt.Errorf("%w as a metadata key", err)
	}
	if len(e.Key) > maxKey {
		return fmt.Errorf("%w: the key has %d bytes, at most %d are possible", format.ErrLimit, len(e.Key), maxKey)
	}
	if e.Key == keyAlignment {
		_, err := plannedAlign(e.Value)
		return err
	}
	if was[e.Key].unchanged(e.Value) {
		return nil
	}
	_, err := appendValue(nil, e.Value)
	return err
}

// plannedAlign returns the alignment that a value stands for.
func plannedAlign(v any) (uint32, error) {
	v, err := chosen(v)
	if err != nil {
		return 0, err
	}
	n, ok := v.(uint32)
	if !ok {
		return 0, fmt.Errorf("%w: it would be read as the alignment, which is a uint32", format.ErrUnsupported)
	}
	if err := checkAlign(n); err != nil {
		return 0, fmt.Errorf("%w: it would be read as the alignment: %w", format.ErrUnsupported, err)
	}
	return n, nil
}

// codeIn is codeOf for a tensor of a plan.
func codeIn(p *driver.Plan, t *tensor.Info) (code uint32, ok bool) {
	if code, ok = codeOf(t); ok || !isCopy(p) {
		return code, ok
	}
	return unknownCode(t)
}
