package gguf

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/wire"
	"github.com/weightmap/weightmap/tensor"
)

// Losses implements driver.Writer.
func (fileFormat) Losses(p *schema.Schema, o *driver.LayoutOptions, l *schema.LossList) error {
	if o.Align > math.MaxUint32 || o.Align != 0 && checkAlign(uint32(o.Align)) != nil {
		return driver.OptionError(formatName, "Align", "%d, not a power of two from %d to 2^31", o.Align,
			minAlign)
	}
	l.AllQuantization(p, "GGUF has no quantization parameters next to the data")
	l.AnyGraph(p, "GGUF has no graph")
	was := originals(p)
	l.UniqueMetadata(p, func(_ int, e schema.Entry) error { return checkEntry(e, was) })
	for i := range p.Tensors {
		t := &p.Tensors[i]
		_, ok := codeOf(t)
		if !ok {
			l.Fixed(schema.LossDType, t.Name, fmt.Errorf("%w: %s elements "+
				"(GGUF has float16, bfloat16, float32, float64, int8 to int64, and its blocks)",
				format.ErrUnsupported, t.TypeName()))
		}
		if len(t.Shape) > maxRank {
			l.Fixed(schema.LossShape, t.Name, fmt.Errorf("%w: shape %v has more than %d dims",
				format.ErrUnsupported, t.Shape, maxRank))
		}
	}
	_, align := aligned(p.Metadata, o.Align)
	loose := looseTensors(p.Tensors, align)
	for _, i := range loose[:max(0, len(loose)-1)] {
		t := &p.Tensors[i]
		l.Fixed(schema.LossDType, t.Name, fmt.Errorf("%w: the size of %s elements is not known, "+
			"so the tensor ends where the next one begins, at a multiple of %d: "+
			"its %d bytes would be read as more", format.ErrUnsupported, t.TypeName(), align, t.Size))
	}
	return nil
}

// looseTensors lists the tensors that end where the data behind them begins, as the size of their
// type is not known, and whose size is no multiple of the alignment. Only the one whose data is the
// last can be written.
func looseTensors(tensors []tensor.Info, align int64) []int {
	var list []int
	for i := range tensors {
		e := tensors[i].Encoding
		if e != nil && e.BlockBytes == 0 && tensors[i].Size%align != 0 {
			list = append(list, i)
		}
	}
	return list
}

// checkEntry returns an error for an entry that would not be read back unchanged.
func checkEntry(e schema.Entry, was map[string]entry) error {
	err := tensor.CheckName(e.Key)
	if err != nil {
		return fmt.Errorf("%w as a metadata key", err)
	}
	if len(e.Key) > maxKey {
		return fmt.Errorf("%w: the key has %d bytes, at most %d are possible", format.ErrLimit,
			len(e.Key), maxKey)
	}
	if e.Key == keyAlignment {
		_, err := alignOf(e.Value)
		return err
	}
	_, err = appendEntry(nil, e, was)
	return err
}

// appendEntry appends type and value of an entry: as they were in the file that is copied, if
// unchanged.
func appendEntry(b []byte, e schema.Entry, was map[string]entry) ([]byte, error) {
	old := was[e.Key]
	if old.unchanged(e.Value) {
		w := wire.Buffer(b)
		w.U32(uint32(old.typ))
		w.Raw(old.value)
		return w, nil
	}
	v, err := chosen(e.Value)
	if err != nil {
		return nil, err
	}
	return appendValue(b, v, 1)
}

// alignOf returns the alignment that a value stands for.
func alignOf(v any) (uint32, error) {
	const text = "%w: it would be read as the alignment: %w"
	v, err := chosen(v)
	if err != nil {
		return 0, fmt.Errorf(text, format.ErrUnsupported, err)
	}
	n, ok := v.(uint32)
	if !ok {
		return 0, fmt.Errorf(text, format.ErrUnsupported,
			fmt.Errorf("%s is not a uint32", schema.TypeName(v)))
	}
	err = checkAlign(n)
	if err != nil {
		return 0, fmt.Errorf(text, format.ErrUnsupported, err)
	}
	return n, nil
}

// aligned decides the alignment, and returns the metadata that say so. wanted is that of the
// options.
func aligned(meta schema.Metadata, wanted int64) (schema.Metadata, int64) {
	n := uint32(wanted) // Losses has checked it
	i := slices.IndexFunc(meta, func(e schema.Entry) bool { return e.Key == keyAlignment })
	if i >= 0 && n == 0 {
		n, _ = alignOf(meta[i].Value) // Losses has checked it
	}
	n = cmp.Or(n, defaultAlign)
	e := schema.Entry{Key: keyAlignment, Value: n}
	switch {
	case i >= 0:
		meta = slices.Clone(meta)
		meta[i] = e
	case n != defaultAlign:
		meta = slices.Insert(slices.Clone(meta), 0, e)
	}
	return meta, int64(n)
}

// Layout implements driver.Writer.
func (fileFormat) Layout(p *schema.Schema, o *driver.LayoutOptions) (*driver.Layout, error) {
	meta, align := aligned(p.Metadata, o.Align)
	no, _ := meta.Get(fileKeys[splitNo])
	if no == nil || no == uint16(0) { // the first part says it for all
		meta = withQuantVersion(meta, p.Tensors)
	}
	var w wire.Buffer
	w.Str(magic)
	w.U32(writeVersion)
	w.U64(uint64(len(p.Tensors))) // tensor_count
	w.U64(uint64(len(meta)))      // metadata_kv_count
	was := originals(p)
	for _, e := range meta {
		putText(&w, e.Key)
		w, _ = appendEntry(w, e, was) // Losses has checked it
	}
	l := &driver.Layout{Offsets: make([]int64, len(p.Tensors))}
	end := placeTensors(p.Tensors, l.Offsets, align)
	w = slices.Grow(w, 80*len(p.Tensors))
	for i := range p.Tensors {
		t := &p.Tensors[i]
		putText(&w, t.Name)
		w.U32(uint32(len(t.Shape))) // n_dims
		for _, dim := range slices.Backward(t.Shape) {
			w.I64(dim)
		}
		code, _ := codeOf(t)
		w.U32(code) // type
		w.I64(l.Offsets[i])
	}
	data := wire.AlignUp(int64(len(w)), align)
	for i := range l.Offsets {
		l.Offsets[i] += data
	}
	l.Size = data + end
	l.Parts = []driver.Part{{Bytes: w}}
	return l, nil
}

// placeTensors sets the offsets of tensors in the data, and returns its size.
func placeTensors(tensors []tensor.Info, offsets []int64, align int64) int64 {
	last := -1
	loose := looseTensors(tensors, align)
	if len(loose) > 0 {
		last = loose[len(loose)-1]
	}
	end := int64(0)
	for i := range tensors {
		if i != last {
			offsets[i] = end
			end = wire.AlignUp(end+tensors[i].Size, align)
		}
	}
	if last >= 0 {
		offsets[last] = end
		end += tensors[last].Size // without padding, which would be read as its data
	}
	return end
}

// withQuantVersion adds the version of the blocks where there are some and the metadata do not say.
func withQuantVersion(meta schema.Metadata, tensors []tensor.Info) schema.Metadata {
	_, has := meta.Get(keyQuantVersion)
	hasBlocks := slices.ContainsFunc(tensors, func(t tensor.Info) bool { return t.Encoding == q8_0 })
	if has || !hasBlocks {
		return meta
	}
	return append(slices.Clip(meta), schema.Entry{Key: keyQuantVersion, Value: uint32(2)})
}
