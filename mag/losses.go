package mag

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/jsonmeta"
	"github.com/weightmap/weightmap/tensor"
)

// Losses implements driver.Writer: it lists the parts of a schema that the selected container
// cannot hold.
func (d fileFormat) Losses(p *schema.Schema, o *driver.LayoutOptions, l *schema.LossList) error {
	if d.Checksum > CRC32 {
		return driver.OptionError(formatName, "Checksum", "no form %d", d.Checksum)
	}
	l.AllQuantization(p, "the format has no quantization parameters")
	l.AnyGraph(p, "the format has no graph")
	if d.Snapshot {
		l.AllMetadata(p, "the snapshot container has no metadata")
	} else {
		d.metadataLosses(p, l)
	}
	known := dtypesV1[:firstGap]
	name := "MAG without extended dtypes"
	minRank := 1
	mostRank := maxRank
	switch {
	case d.Snapshot:
		known = dtypesSnapshot[:snapDTypes]
		name = "the snapshot container"
		minRank = 0
		mostRank = snapMaxRank
	case o.Extended:
		known = append(slices.Clone(known), dtypesV1[firstExtended:endExtended]...)
		name = "MAG"
	}
	l.DTypes(p, name, known)
	for i := range p.Tensors {
		t := &p.Tensors[i]
		rank := len(t.Shape)
		var err error
		switch {
		case rank < minRank:
			err = fmt.Errorf("%w: the format has no scalars; use shape [1]", format.ErrUnsupported)
		case rank > mostRank:
			err = fmt.Errorf("%w: rank %d, the most is %d", format.ErrUnsupported, rank, mostRank)
		case t.Size == 0:
			err = fmt.Errorf("%w: shape %v has no elements, which the format cannot express",
				format.ErrUnsupported, t.Shape)
		}
		if err != nil {
			l.Fixed(schema.LossShape, t.Name, err)
		}
	}
	return nil
}

// metadataLosses lists the entries that cannot be written or would not be read
// back as written.
func (d fileFormat) metadataLosses(p *schema.Schema, l *schema.LossList) {
	if len(p.Metadata) == 0 {
		return
	}
	digests := make(map[string]bool, len(p.Tensors))
	for i := range p.Tensors {
		name := p.Tensors[i].Name
		if hasDigest(name) {
			digests[digestPrefix+name] = true
		}
	}
	l.UniqueMetadata(p, func(_ int, m schema.Entry) error { return d.checkEntry(m, digests[m.Key]) })
}

func (d fileFormat) checkEntry(m schema.Entry, isDigest bool) error {
	kind, _, ok := payload(m.Value)
	err := tensor.CheckName(m.Key)
	switch {
	case err != nil:
		return fmt.Errorf("%w as a metadata key", err)
	case len(m.Key) > maxKey:
		return fmt.Errorf("%w: the key has %d bytes, at most %d are possible", format.ErrLimit,
			len(m.Key), maxKey)
	case !ok:
		return fmt.Errorf("%w: a %s; MAG has int64 and float64", format.ErrUnsupported,
			schema.TypeName(m.Value))
	case isDigest && kind == metadataInt64:
		return fmt.Errorf("%w: it would be read as the digest of a tensor", format.ErrUnsupported)
	case isDigest && !d.NoDigests:
		return fmt.Errorf("%w: the digest of the tensor has this key", format.ErrUnsupported)
	}
	return nil
}

// payload returns the type and the bits of a metadata value in a record. A
// json.Number, which other formats return for numbers, is accepted if an int64 or
// float64 has the same value.
func payload(v any) (kind uint32, bits uint64, ok bool) {
	switch v := v.(type) {
	case int64:
		return metadataInt64, uint64(v), true
	case float64:
		return metadataFloat64, math.Float64bits(v), true
	case json.Number:
		n, err := strconv.ParseInt(string(v), 10, 64)
		if err == nil {
			return metadataInt64, uint64(n), strconv.FormatInt(n, 10) == string(v)
		}
		x, exact := jsonmeta.Float(string(v))
		return metadataFloat64, math.Float64bits(x), exact
	}
	return 0, 0, false
}
