// Package formattest is the conformance kit of the file formats, in the manner
// of testing/fstest: a format hands it its driver with sample plans and files,
// and the kit checks what every format promises, those of other modules too.
// This package may change in any minor release.
// A format's test is
//
//	func TestConformance(t *testing.T) {
//		formattest.Run(t, formattest.Config{
//			Codec: format.With(driver{}),
//			Samples: []formattest.Sample{
//				{Name: "small", Plan: plan, Structural: covered},
//			},
//			Files: []formattest.File{
//				{Name: "name twice", Bytes: twice, Want: format.ErrCorrupt},
//			},
//			Exempt: map[string]string{
//				"Overlap": "the specification allows tensors to share bytes",
//			},
//		})
//	}
//
// Each property is a subtest of its own, so a failure names what is broken:
// "TestConformance/small/BitFlips". A property that every sample skips is a
// failure of the subtest Complete, unless Config.Exempt says why the format
// cannot have it.
//
// # Properties
//
// The kit asks what a driver can get wrong. What the engine does for all formats (lookup, close, pins, faults,
// slices, options, the calls of a writer) is tested once, in this module.
//
// Of reading, for samples and files alike:
//
//   - Content: what was written, or is known of a file, is what is read.
//   - Detect: the file is recognized by content, and no other is.
//   - Agreement: bytes, mapping, reader and windows show the same model.
//   - OwnMemory: metadata, graph and notes do not change when the file does.
//   - ZeroCopy: plain tensors are views of the mapping, aligned.
//   - Verify: verification reports progress, can be canceled, and accepts no stranger's signature.
//   - CoveredData: a changed bit is noticed where a checksum is said to cover it.
//   - CheckTouch: with CheckTouch it is noticed before the first use.
//   - Hostile: no input panics.
//   - Bounded: opening allocates no memory for claims.
//   - BrokenDisk: the error of a reader reaches the caller, whichever read fails.
//
// Of writing, for samples:
//
//   - Truncation, Appended, BitFlips: damage to the structure is noticed.
//   - Overlap, Holes: whatever the fields say, no two tensors share bytes, and none lie between them.
//   - Rewrite: reading and writing gives the same bytes.
//   - Targets: a file, a spool and a stream receive the same bytes.
//   - Arrival: the order in which tensors arrive does not show.
//   - DiskErrors: a write that fails, whichever it is, or the reader of a tensor, fails the writer, and the old file stays.
//
// Of size, for the plans of Config.Scale:
//
//   - Allocations: opening allocates a few times, whatever the number of tensors.
//   - LazyReader: behind a reader only the structure is read, and a tensor on demand.
//   - Duplicates: a name that occurs twice is refused.
//
// No goroutine is left of a sample.
//
// A format that cannot be written has Files alone; properties of writing and size
// are then left out.
//
// The kit's own tests break a toy format in one way after the other and see
// each property fail.
package formattest

import (
	"runtime"
	"testing"
	"time"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/tensor"
)

// Config describes a format to Run.
type Config struct {
	// Codec reads the samples, and writes those that bring no Codec of their own.
	// It need not be registered: format.With(driver).
	Codec format.Codec
	// Samples are written and taken apart one by one. Files of a few kilobytes
	// are best: most properties look at every byte.
	Samples []Sample
	// Files are what the writer would not make.
	Files []File
	// Exempt names the properties that the format cannot have, each with the reason.
	Exempt map[string]string
	// Neutral is applied to the plan and to what was read back before the two are
	// compared. It takes out what the format adds, or cannot keep; it gets a
	// plan of its own but must copy the parts it changes. Nil changes nothing.
	Neutral func(*format.Plan) *format.Plan
	// Reorders says that the writer puts tensors into an order of its own, so
	// file order is not plan order.
	Reorders bool
	// NamesFromPath says that a file holds one tensor, called after the file.
	NamesFromPath bool
	// Trailing says that bytes after the last tensor are ignored, so a file that
	// lost some of them, or gained some, and nothing else, is still whole.
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
	// rank 1, with names of more than 32 bytes, and whatever else the format
	// needs. Nil makes one without metadata and graph. With NamesFromPath n is 1.
	Scale func(n int, elems int64) *format.Plan
}

// Sample is one file to write and to try everything on.
type Sample struct {
	// Name names the subtest.
	Name string
	// Plan is written.
	Plan *format.Plan
	// Data returns the bytes of a tensor. Nil means Fill.
	Data func(t tensor.Info) []byte
	// Codec writes instead of Config.Codec: format.With of a driver that holds
	// options that only the format has.
	Codec format.Codec
	// Options open the sample: a key, for instance.
	Options *format.Options
	// Lossy says that data need not come back bit for bit: it compares them
	// then, and writing again need not give the same bytes.
	Lossy func(t tensor.Info, want, got []byte) error
	// Random says that two writes of the same model differ (encryption).
	Random bool
	// VerifyErr is what verifying the intact sample answers, nil for success.
	VerifyErr error
	// Structural returns the ranges of the file that checks cover: a changed bit
	// there fails the opening or the verification, or changes nothing that is
	// read. Nil leaves this property out.
	Structural func(file []byte) []Range
	// Slack is memory that opening may take on top of a multiple of the file's
	// size, for the state of decompressors.
	Slack int64
}

// File is one that the writer would not make: misaligned, with tensors in
// another order, with holes, with a name twice. The test of the format builds
// its bytes from the specification.
type File struct {
	// Name names the subtest.
	Name string
	// Bytes is the content.
	Bytes []byte
	// Options open it.
	Options *format.Options
	// Want is the sentinel that opening the file answers, in every way there is;
	// nil for a file that opens.
	Want error
	// Field is the field that the error names, "" for any.
	Field string
	// VerifyErr is what verifying a file that opens answers.
	VerifyErr error
	// Plan is what a file that opens shows, nil to leave that out.
	Plan *format.Plan
	// Data has the bytes of the tensors of Plan.
	Data map[string][]byte
}

// Range is a part of a file, From <= offset < To.
type Range struct{ From, To int }

// Whole covers all of a file.
func Whole(file []byte) []Range { return []Range{{0, len(file)}} }

// property is something that every sample must show.
type property[T any] struct {
	name  string
	check func(x T, t *testing.T)
}

// reading are the properties of a file, whoever wrote it.
var reading = []property[*subject]{
	{"Content", (*subject).content},
	{"Detect", (*subject).detect},
	{"Agreement", (*subject).agreement},
	{"OwnMemory", (*subject).ownMemory},
	{"ZeroCopy", (*subject).zeroCopy},
	{"Verify", (*subject).verify},
	{"CoveredData", (*subject).coveredData},
	{"CheckTouch", (*subject).checkTouch},
	{"Hostile", (*subject).hostile},
	{"Bounded", (*subject).bounded},
	{"BrokenDisk", (*subject).brokenDisk},
}

// writing are those of files that the writer made.
var writing = []property[*subject]{
	{"Truncation", (*subject).truncation},
	{"Appended", (*subject).appended},
	{"BitFlips", (*subject).bitFlips},
	{"Overlap", (*subject).overlap},
	{"Holes", (*subject).holes},
	{"Rewrite", (*subject).rewrite},
	{"Targets", (*subject).targets},
	{"Arrival", (*subject).arrival},
	{"DiskErrors", (*subject).diskErrors},
}

// scaling are those of models with many or large tensors.
var scaling = []property[*scales]{
	{"Allocations", (*scales).allocations},
	{"LazyReader", (*scales).lazyReader},
	{"Duplicates", (*scales).duplicates},
}

// Run checks everything.
func Run(t *testing.T, c Config) {
	if c.MaxAllocs == 0 {
		c.MaxAllocs = 40
	}
	if c.Scale == nil {
		c.Scale = scale
	}
	seen := &tally{exempt: c.Exempt, kept: map[string]bool{}}
	for i := range c.Samples {
		s := &c.Samples[i]
		t.Run(s.Name, func(t *testing.T) {
			t.TempDir() // after which systems without threads have a goroutine more
			defer ended(t, runtime.NumGoroutine())
			x := newSubject(t, &c, s)
			x.tally = seen
			runAll(t, seen, x, reading)
			runAll(t, seen, x, writing)
		})
	}
	for i := range c.Files {
		f := &c.Files[i]
		t.Run(f.Name, func(t *testing.T) {
			if f.Want != nil {
				refused(t, &c, f)
				return
			}
			x := foreign(t, &c, f)
			x.tally = seen
			runAll(t, seen, x, reading)
		})
	}
	if c.isWritable() {
		t.Run("scale", func(t *testing.T) { runAll(t, seen, &scales{cfg: &c, tally: seen}, scaling) })
	}
	t.Run("Complete", seen.complete)
}

// ended demands that no more goroutines run than before: one may need a moment to end.
func ended(t *testing.T, before int) {
	for wait := time.Microsecond; wait < 4*time.Second; wait *= 2 {
		if runtime.NumGoroutine() <= before {
			return
		}
		time.Sleep(wait)
	}
	t.Errorf("%d goroutines are left of %d", runtime.NumGoroutine()-before, runtime.NumGoroutine())
}

// isWritable tells whether the format has a writer.
func (c *Config) isWritable() bool {
	_, ok := c.Codec.Driver().(driver.Layouter)
	return ok
}

// runAll checks the properties of x one by one.
func runAll[T any](t *testing.T, seen *tally, x T, list []property[T]) {
	for _, p := range list {
		if c := seen.exempt[p.name]; c != "" {
			continue
		}
		t.Run(p.name, func(t *testing.T) {
			defer seen.note(t, p.name)
			p.check(x, t)
		})
	}
}
