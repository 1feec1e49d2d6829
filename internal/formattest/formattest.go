// Package formattest is the conformance kit of the file formats, in the manner
// of testing/fstest: a format hands it sample plans, and it checks what every
// format of this module promises. A format's test is
//
//	func TestConformance(t *testing.T) {
//		formattest.Run(t, formattest.Config{
//			Codec: &codec,
//			Samples: []formattest.Sample{
//				{Name: "small", Plan: plan, Structural: covered},
//			},
//		})
//	}
//
// Each property is a subtest of its own, so a failure names what was broken:
// "TestConformance/small/BitFlips". The kit's own tests break a toy format in
// one way after the other and see each property fail.
package formattest

import (
	"testing"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/tensor"
)

// Config describes a format to Run.
type Config struct {
	// Codec reads the samples, and writes those that bring no codec of their own.
	Codec *format.Codec
	// Samples are written and taken apart one by one. Files of a few kilobytes
	// are best: most properties look at every byte.
	Samples []Sample
	// Neutral is applied to the plan and to what was read back before the two are
	// compared. It takes out what the format adds, or cannot keep; it gets a
	// plan of its own but must copy the parts it changes. Nil changes nothing.
	Neutral func(*format.Plan) *format.Plan
	// Reorders says that the writer lays tensors out in an order of its own, so
	// file order is not plan order.
	Reorders bool
	// NamesFromPath says that a file holds one tensor, called after the file.
	NamesFromPath bool
	// Trailing says that bytes after the last tensor are ignored, so a file that
	// lost some of them, and nothing else, is still whole.
	Trailing bool
	// ReadsAll says that the first use of a tensor reads the whole file, for a
	// sum that covers all of it.
	ReadsAll bool
	// ZeroCopy says that tensors written plainly are views into the mapping.
	ZeroCopy bool
	// Align is what the file offset of a plain tensor is a multiple of; 0 means
	// the size of its elements.
	Align int64
	// MaxAllocs bounds the allocations of an open; 0 means 40.
	MaxAllocs int
	// Scale makes a plan of n float32 tensors with elems elements each, of
	// rank 1, and whatever else the format needs. Nil makes one with the names
	// "0", "1" and so on, without metadata and graph. With NamesFromPath n is 1.
	Scale func(n int, elems int64) *format.Plan
}

// Sample is one file to try everything on.
type Sample struct {
	// Name names the subtest.
	Name string
	// Plan is written.
	Plan *format.Plan
	// Data returns the bytes of a tensor. Nil means Fill.
	Data func(t tensor.Info) []byte
	// Codec writes instead of Config.Codec: a copy whose Encode (and Create)
	// close over options that only the format has.
	Codec *format.Codec
	// Options open the sample: a key, for instance.
	Options *format.Options
	// Lossy says that data need not come back bit for bit: Close then compares
	// them, and writing again need not give the same bytes.
	Lossy func(t tensor.Info, want, got []byte) error
	// Random says that two writes of the same model differ (encryption).
	Random bool
	// VerifyErr is what verifying the intact sample answers, nil for success.
	VerifyErr error
	// Structural returns the ranges of the file that checks cover: a changed bit
	// there fails the opening or the verification, or changes nothing that is
	// read. Nil leaves this property out.
	Structural func(file []byte) []Range
	// Slack is memory that opening may take beside a multiple of the file's
	// size, for the state of decompressors.
	Slack int64
}

// Range is a part of a file, From <= offset < To.
type Range struct{ From, To int }

// Whole covers all of a file.
func Whole(file []byte) []Range { return []Range{{0, len(file)}} }

// Run checks everything.
func Run(t *testing.T, c Config) {
	if c.MaxAllocs == 0 {
		c.MaxAllocs = 40
	}
	if c.Scale == nil {
		c.Scale = scale
	}
	for i := range c.Samples {
		s := &c.Samples[i]
		t.Run(s.Name, func(t *testing.T) { newSubject(t, &c, s).run(t) })
	}
	t.Run("scale", func(t *testing.T) {
		t.Run("Allocations", func(t *testing.T) { checkAllocations(t, &c) })
		t.Run("LazyReader", func(t *testing.T) { checkLazyReader(t, &c) })
		t.Run("CutWhileMapped", func(t *testing.T) { checkCut(t, &c) })
		t.Run("CancelVerify", func(t *testing.T) { checkCancelVerify(t, &c) })
	})
}

// run checks the properties of one sample.
func (x *subject) run(t *testing.T) {
	for _, p := range []struct {
		name  string
		check func(*subject, *testing.T)
	}{
		{"RoundTrip", (*subject).roundTrip},
		{"Rewrite", (*subject).rewrite},
		{"Targets", (*subject).targets},
		{"Arrival", (*subject).arrival},
		{"Detect", (*subject).detect},
		{"Agreement", (*subject).agreement},
		{"ZeroCopy", (*subject).zeroCopy},
		{"Lookup", (*subject).lookup},
		{"Verify", (*subject).verify},
		{"Limit", (*subject).limit},
		{"Truncation", (*subject).truncation},
		{"BitFlips", (*subject).bitFlips},
		{"Hostile", (*subject).hostile},
		{"Bounded", (*subject).bounded},
		{"BrokenDisk", (*subject).brokenDisk},
		{"Emptied", (*subject).emptied},
		{"AfterClose", (*subject).afterClose},
		{"CloseWaits", (*subject).closeWaits},
		{"Concurrent", (*subject).concurrent},
		{"Pin", (*subject).pin},
		{"WriterErrors", (*subject).writerErrors},
		{"WriterMisuse", (*subject).writerMisuse},
		{"DiskErrors", (*subject).diskErrors},
	} {
		t.Run(p.name, func(t *testing.T) { p.check(x, t) })
	}
}
