package npy

import (
	"testing"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/corpus"
	"github.com/weightmap/weightmap/tensor"
)

func TestCorpus(t *testing.T) {
	s := corpus.Suite{Format: Format{}, Ext: ".npy", Alone: "array", Dir: "npy"}
	for _, m := range malformed {
		for _, c := range m.cases {
			a := f32()
			c.mutate(&a)
			s.Cases = append(s.Cases, corpus.Refused(c.name, a.bytes(), m.err, c.field, c.offset))
		}
	}
	whole, long := f32().bytes(), f32()
	long.major = 2
	s.Cases = append(s.Cases,
		corpus.Refused("no bytes", nil, format.ErrTruncated, "header", 0),
		corpus.Refused("cut in the magic", whole[:5], format.ErrTruncated, "header", 5),
		corpus.Refused("cut in the header", whole[:100], format.ErrTruncated, "header length", 8),
		corpus.Refused("cut in the long header length", long.bytes()[:11], format.ErrTruncated, "header length", 8))
	for _, c := range golden {
		version := string(rune('0'+c.file.major)) + ".0"
		s.Cases = append(s.Cases, corpus.Case{Name: "good: " + c.name, Bytes: c.file.bytes(), Version: version, Tensors: []corpus.Tensor{{Type: c.dtype, Shape: c.shape, Data: c.data}}})
	}
	s.Run(t)
}

func TestArchiveCorpus(t *testing.T) {
	s := corpus.Suite{Format: Archive{}, Ext: ".npz", Dir: "npz"}
	for _, b := range badArchives {
		for _, c := range b.cases {
			z := pair()
			c.mutate(&z, &z.members[0], &z.members[1])
			s.Cases = append(s.Cases, corpus.Refused(c.name, z.bytes(), b.err, c.field, c.offset))
		}
	}
	for _, c := range unsound {
		z := pair()
		c.mutate(&z.members[1])
		// The local header of y is at 187; it takes 30 bytes and a name of 5.
		s.Cases = append(s.Cases, corpus.Late(c.name, z.bytes(), c.err, `tensor "y"`, 187+35))
	}
	changed := archiveOf(stored1("x", f32().bytes())).bytes()
	changed[35+128] ^= 1
	s.Cases = append(s.Cases, corpus.Late("stored data changed", changed, format.ErrChecksum, `tensor "x"`, 35+128))
	twoSums := stored1("x", f32().bytes())
	twoSums.local = func(l *member1) { l.sum++ }
	s.Cases = append(s.Cases, corpus.Late("another sum beside a stored array", archiveOf(twoSums).bytes(), format.ErrChecksum, `tensor "x"`, 35))
	disks := pair()
	disks.end = toWide
	locator := disks.bytes()
	locator[541] = 1 // the disk of the zip64 record
	s.Cases = append(s.Cases, corpus.Refused("zip64 record on another disk", locator, format.ErrUnsupported, "zip64 locator", 541))

	x := corpus.Of("x", tensor.Float32, floats(6), 2, 3)
	for _, c := range archives {
		z := archiveOf(stored1("x", f32().bytes()))
		c.change(&z, &z.members[0])
		good := corpus.Case{Name: "good: " + c.name, Bytes: z.bytes(), Version: "1.0", Tensors: []corpus.Tensor{x}}
		if c.note != "" {
			good.Notes = []string{c.note}
		}
		s.Cases = append(s.Cases, good)
	}
	s.Cases = append(s.Cases, goodArchives()...)
	s.Run(t)
}

func goodArchives() []corpus.Case {
	one := func(name string) corpus.Tensor { return corpus.Of(name, tensor.Float32, floats(6), 2, 3) }
	raw := f32().bytes()
	names := archiveOf(stored1("../up", raw), stored1("dir/x", raw), stored1("é", raw), stored1("/abs", raw), stored1("a..b", raw), stored1("X.npy", raw))
	both := pair()
	cases := []corpus.Case{
		{Name: "good: stored and deflated", Bytes: both.bytes(), Version: "1.0", Tensors: []corpus.Tensor{one("x"), one("y")}},
		{Name: "good: names that would be paths", Bytes: names.bytes(), Version: "1.0", Tensors: []corpus.Tensor{one("../up"), one("dir/x"), one("é"), one("/abs"), one("a..b"), one("X.npy")}},
	}
	for _, c := range golden[3:9] {
		x := deflated1("x", c.file.bytes())
		cases = append(cases, corpus.Case{Name: "good: deflated " + c.name, Bytes: archiveOf(x).bytes(), Version: "1.0", Tensors: []corpus.Tensor{{Name: "x", Type: c.dtype, Shape: c.shape, Data: c.data}}})
	}
	// Of types that only NumPy reads, the bytes are there.
	for _, descr := range []string{"|O", "<U5", "|S5", "|V4", "<M8[ns]", "<f16", "bfloat16", "<float32"} {
		x := stored1("x", npy(dict(descr, "False", "(2, 3)"), ramp(24)).bytes())
		cases = append(cases, corpus.Case{Name: "good: listed " + descr, Bytes: archiveOf(x).bytes(), Version: "1.0",
			Tensors: []corpus.Tensor{{Name: "x", Type: descr, Shape: []int64{2, 3}, Data: ramp(24)}}})
	}
	return cases
}
