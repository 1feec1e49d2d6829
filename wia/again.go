package wia

import (
	"bytes"
	"slices"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/protobuf"
	"github.com/weightmap/weightmap/internal/wire"
	"github.com/weightmap/weightmap/tensor"
)

// readAgain reads the structure anew. Sums that fit vouch for what is in the file now: it
// must still be what the tensors were found in. What was parsed from memory is the same
// if its bytes are; the records of a tensor block that stays in the file are walked, one
// at a time, so that nothing is held twice but the metadata and the graph.
func (f *parsed) readAgain(v driver.Verification) error {
	o := f.opts
	o.Context, o.Memory = v.Context(), nil
	now := &parsed{src: f.src, most: f.most, spaces: f.spaces}
	if err := now.hdr.parse(f.src); err != nil {
		return err
	}
	if now.hdr != f.hdr {
		return errChanged()
	}
	l := &loader{src: f.src, hdr: &now.hdr, o: &o, scratch: scratches.Get().(*scratch)}
	defer l.scratch.free()
	if err := l.unlock(); err != nil {
		return err
	}
	if err := f.sameBlocks(l, now); err != nil {
		return err
	}
	if f.tensors.inFile {
		return f.sameTensors(l, now)
	}
	return nil
}

func errChanged() error {
	return wire.Errorf(formatName, "header", 0, tensor.ErrCorrupt, "the file was changed since it was opened")
}

// sameBlocks compares what is held in memory.
func (f *parsed) sameBlocks(l *loader, now *parsed) error {
	blocks := &f.hdr.blocks
	if err := f.sameBlock(l, &f.meta, l.o.MetadataLimit(blocks[metadataBlock].size)); err != nil {
		return err
	}
	if err := f.sameBlock(l, &f.graph, l.o.GraphLimit(blocks[graphBlock].size)); err != nil {
		return err
	}
	if f.tensors.inFile {
		now.tensors = f.tensors
	} else if err := f.sameBlock(l, &f.tensors, 0); err != nil {
		return err
	}
	if err := now.readSignatures(l); err != nil {
		return err
	}
	if now.sums != f.sums {
		return errChanged()
	}
	return nil
}

// sameBlock compares one block, which is in memory twice for that long.
func (f *parsed) sameBlock(l *loader, was *payload, limit int64) error {
	if err := f.memory.Reserve(was.Size); err != nil {
		return wire.Error(formatName, was.block.String(), was.at, err)
	}
	defer f.memory.Release(was.Size)
	var is payload
	if err := l.load(&is, was.block, limit); err != nil {
		return err
	}
	if !bytes.Equal(is.Win, was.Win) {
		return errChanged()
	}
	return nil
}

// sameTensors walks the tensor block and compares its records.
func (f *parsed) sameTensors(l *loader, now *parsed) error {
	inBlock := func(r record) bool { return !r.graph }
	first, end := max(0, slices.IndexFunc(f.records, inBlock)), len(f.records)
	for end > first && f.records[end-1].graph {
		end--
	}
	x := &indexer{f: now, was: f, max: l.o.MaxTensors, tensors: first, scratch: l.scratch}
	defer x.open()()
	if err := x.tensorBlock(); err != nil {
		return err
	}
	if x.tensors != end {
		return errChanged()
	}
	return nil
}

// compare looks whether the tensor that was just counted is as it was.
func (x *indexer) compare(t *driver.Tensor, r record, at int64) error {
	i, s := x.tensors-1, x.scratch
	same := i < len(x.was.records)
	if same {
		was := x.was.records[i]
		more := was.more
		was.more = r.more
		same = was == r && x.was.index.Is(i, t)
		switch {
		case same && r.external:
			same = s.digests[0] == x.was.digests[more]
		case same && t.Loaded:
			same = s.stored[0] == x.was.stored[more]
		}
	}
	// What the tensor took is for the next one.
	s.stored, s.digests = s.stored[:0], s.digests[:0]
	x.quants.left, x.scales.left, x.zeros.left = x.quants.left[:0], x.scales.left[:0], x.zeros.left[:0]
	if !same {
		return protobuf.Defectf(at, tensor.ErrCorrupt, "changed since the file was opened")
	}
	return nil
}
