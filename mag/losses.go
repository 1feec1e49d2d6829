package mag

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/jsonmeta"
	"github.com/weightmap/weightmap/tensor"
)

// losses lists what the container that the options choose cannot hold.
func (o *WriteOptions) losses(p *driver.Plan, l *driver.LossList) {
	l.AllQuantization(p, "the format has no quantization parameters")
	l.AnyGraph(p, "the format holds no graph")
	if o.Snapshot {
		l.AllMetadata(p, "the snapshot container holds no metadata")
	} else {
		o.metadataLosses(p, l)
	}
	for i := range p.Tensors {
		o.tensorLosses(&p.Tensors[i], l)
	}
}

// tensorLosses finds what a record cannot express.
func (o *WriteOptions) tensorLosses(t *tensor.Info, l *driver.LossList) {
	if err := o.checkDType(t); err != nil {
		l.Fixed(driver.LossDType, t.Name, err)
	}
	most := maxRank
	if o.Snapshot {
		most = snapMaxRank
	}
	if err := checkShape(t, most, o.Snapshot); err != nil {
		l.Fixed(driver.LossShape, t.Name, err)
	}
}

func (o *WriteOptions) checkDType(t *tensor.Info) error {
	if o.Snapshot {
		if _, ok := codeOf(dtypesSnapshot[:], t.DType); !ok {
			return fmt.Errorf("%w: the snapshot container has no %s", format.ErrUnsupported, t.TypeName())
		}
		return nil
	}
	code, ok := codeOf(dtypesV1[:], t.DType)
	switch {
	case !ok:
		return fmt.Errorf("%w: the format has no %s", format.ErrUnsupported, t.TypeName())
	case code >= firstExtended && !o.Extended:
		return fmt.Errorf("%w: %v is an extended dtype, which other readers may not know, and not allowed here", format.ErrUnsupported, t.DType)
	}
	return nil
}

// checkShape refuses what a container cannot hold.
func checkShape(t *tensor.Info, most int, scalars bool) error {
	switch {
	case len(t.Shape) == 0 && !scalars:
		return fmt.Errorf("%w: rank 0, the least is 1: use shape [1]", format.ErrUnsupported)
	case len(t.Shape) > most:
		return fmt.Errorf("%w: rank %d, the most is %d", format.ErrUnsupported, len(t.Shape), most)
	case t.Size == 0:
		return fmt.Errorf("%w: shape %v has no elements, which the format cannot express", format.ErrUnsupported, t.Shape)
	}
	return nil
}

// metadataLosses finds entries that cannot be written, or would be read back as
// something else.
func (o *WriteOptions) metadataLosses(p *driver.Plan, l *driver.LossList) {
	if len(p.Metadata) == 0 {
		return
	}
	digests := make(map[string]bool, len(p.Tensors))
	for i := range p.Tensors {
		if name := p.Tensors[i].Name; hasDigest(name) {
			digests[digestPrefix+name] = true
		}
	}
	l.UniqueMetadata(p, func(_ int, m driver.Entry) error { return o.checkEntry(m, digests[m.Key]) })
}

func (o *WriteOptions) checkEntry(m driver.Entry, isDigest bool) error {
	kind, _, ok := payload(m.Value)
	switch err := tensor.CheckName(m.Key); {
	case err != nil:
		return fmt.Errorf("%w as a metadata key", err)
	case len(m.Key) > maxKey:
		return fmt.Errorf("%w: the key has %d bytes, at most %d are possible", format.ErrLimit, len(m.Key), maxKey)
	case !ok:
		return fmt.Errorf("%w: a %s; MAG has int64 and float64", format.ErrUnsupported, driver.TypeName(m.Value))
	case isDigest && kind == metadataInt64:
		return fmt.Errorf("%w: it would be read as the digest of a tensor", format.ErrUnsupported)
	case isDigest && !o.NoDigests:
		return fmt.Errorf("%w: the digest of the tensor has this key", format.ErrUnsupported)
	}
	return nil
}

// payload returns what a record holds of a metadata value. A json.Number, which
// is what other formats read a float64 as, is one if its text says no more.
func payload(v any) (kind uint32, bits uint64, ok bool) {
	switch v := v.(type) {
	case int64:
		return metadataInt64, uint64(v), true
	case float64:
		return metadataFloat64, math.Float64bits(v), true
	case json.Number:
		if n, err := strconv.ParseInt(string(v), 10, 64); err == nil {
			return metadataInt64, uint64(n), strconv.FormatInt(n, 10) == string(v)
		}
		x, exact := jsonmeta.Float(string(v))
		return metadataFloat64, math.Float64bits(x), exact
	}
	return 0, 0, false
}
