// Package formattest implements conformance tests for file formats, similar to
// testing/fstest: given a driver, sample schemas and sample files, Run checks the
// properties that every format must have, including formats of other modules.
// This package may change in any minor release.
//
// A format's test looks like this:
//
//	func TestConformance(t *testing.T) {
//		formattest.Run(t, formattest.Config{
//			Format: Format{},
//			Samples: []formattest.Sample{
//				{Name: "small", Schema: s, Structural: covered},
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
// Each property is a subtest, so the name of a failing test says what is wrong:
// "TestConformance/small/BitFlips". If every sample skips a property, the subtest
// Complete fails, unless Config.Exempt gives the reason.
//
// # Properties
//
// The tests cover mistakes that a driver can make. Functions that the engine implements for
// all formats (lookup, Close, pins, page faults, slices, options, the methods of a writer) are
// tested elsewhere in this module.
//
// Reading, for samples and files:
//
//   - Content: bytes, mapping and reader give the same model: the one written, or the known content of a
//     file.
//   - Detect: the format detects its own file by content, and no other file.
//   - OwnMemory: metadata, graph and notes do not change when the file does.
//   - ZeroCopy: plain tensors are aligned views of the mapping.
//   - Streaming: Model.Stream returns the bytes of tensors and slices that their views return.
//   - Verify: verification reports progress, can be canceled, and rejects other signers.
//   - CoveredData: a flipped bit is detected in data that a checksum covers: by verification, and with
//     CheckTouch before the data is first used.
//   - Hostile: no input panics.
//   - Bounded: opening allocates memory in proportion to the file, not to its fields.
//   - BrokenDisk: the error of any failing read reaches the caller.
//
// Writing, for samples:
//
//   - Truncation, Appended, BitFlips: damage to the structure is detected.
//   - Overlap: in any file that opens, damaged or not, no two tensors share bytes.
//   - Rewrite: writing the model read gives the same bytes.
//   - Targets: a file, a spool and a stream receive the same bytes, in whatever order tensors arrive.
//   - DiskErrors: if any write or the reader of a tensor fails, the writer fails, and the old
//     file remains.
//
// Size, for the schemas of Config.Scale:
//
//   - Allocations: an open makes no allocation for each tensor, only for lists that grow.
//   - LazyReader: behind a reader, opening reads only the structure; tensors are read on demand.
//
// In addition, no goroutine may be left after a sample.
//
// For a read-only format, set only Files; the properties of writing and size are then left out.
//
// The tests of this package run it on a toy format with one bug after another and check that
// each property can fail.
package formattest

import (
	"runtime"
	"testing"
	"time"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/tensor"
)

// Config describes the format that Run tests.
type Config struct {
	// Format reads the samples, and writes those whose Write has no Format. It need not be
	// registered.
	Format format.Format
	// Samples are written, read and damaged one by one. Use files of a few kilobytes: most
	// properties damage one byte after the other, in files of more than 512 bytes a sample of them.
	// With WEIGHTMAP_NIGHTLY set in the environment they damage every byte of files of up to 8 kB.
	Samples []Sample
	// Files are files that the writer does not produce.
	Files []File
	// Exempt maps properties that the format cannot have to the reason.
	Exempt map[string]string
	// Neutral is applied to both schemas before the schema written is compared with the schema
	// read. It removes what the format adds or cannot store. It receives its own copy of the
	// schema, but must copy the slices and maps it changes. Nil changes nothing.
	Neutral func(*schema.Schema) *schema.Schema
	// Reorders says that the writer chooses the order of tensors, so file order may differ from
	// that of the schema.
	Reorders bool
	// NamesFromPath says that a file holds one tensor, named after the file.
	NamesFromPath bool
	// Trailing says that bytes after the last tensor are ignored, so a file is still valid if it
	// loses or gains some of them.
	Trailing bool
	// ReadsAll says that the first access to any tensor reads the whole file, to verify a checksum
	// over all of it.
	ReadsAll bool
	// ZeroCopy says that uncompressed, unencrypted tensors are views of the mapping.
	ZeroCopy bool
	// Align is the alignment of a plain tensor's offset in the file; 0 means the size of an
	// element.
	Align int64
	// MaxAllocs limits the allocations of opening ten tensors; 0 means 50.
	MaxAllocs int
	// Scale returns a schema of n float32 tensors of rank 1 with elems elements each, with names
	// longer than 32 bytes and anything else the format requires. If nil, the schema has no
	// metadata and no graph. With NamesFromPath n is 1.
	Scale func(n int, elems int64) *schema.Schema
}

func (c *Config) name() string { return c.Format.Driver().Describe().Name }

// Sample is a schema to write and test.
type Sample struct {
	// Name is the name of the subtest.
	Name string
	// Schema is the schema to write.
	Schema *schema.Schema
	// Data returns the bytes of a tensor. If nil, Fill is used.
	Data func(t tensor.Info) []byte
	// Write has the options to write the sample: its Format replaces Config.Format, for options
	// that only the format has. Run sets Time, NoSync and Spool. It may be nil.
	Write *format.WriteOptions
	// Options are used to open the sample. They may hold a key, for example.
	Options *format.Options
	// Random says that writing the same model twice gives different bytes (encryption).
	Random bool
	// Structural returns the ranges of the file that checks cover: if a bit in them changes,
	// opening or verifying fails, or the model is unchanged. If nil, BitFlips is skipped.
	Structural func(file []byte) []Range
	// Slack is the memory that opening may use in addition to a multiple of the file's size, for
	// the state of decompressors.
	Slack int64
}

// File is a file that the writer does not produce: misaligned, in another order, with gaps, with
// duplicate names. The format's test builds its bytes from the specification.
type File struct {
	// Name is the name of the subtest.
	Name string
	// Bytes is the content.
	Bytes []byte
	// Options are used to open the file.
	Options *format.Options
	// Want is the sentinel of the error from opening the file, in every way; nil if the file opens.
	Want error
	// Field is the field in that error; "" allows any.
	Field string
	// VerifyErr is the error of verifying a file that opens.
	VerifyErr error
	// Schema is the content of a file that opens; nil skips the comparison.
	Schema *schema.Schema
	// Data holds the bytes of the tensors in Schema.
	Data map[string][]byte
}

// Range is a part of a file, From <= offset < To.
type Range struct {
	From, To int // offsets
}

// Whole returns a Range of the whole file. It is for Sample.Structural.
func Whole(file []byte) []Range { return []Range{{0, len(file)}} }

// property is a property that every sample must have.
type property struct {
	name  string
	check func(t *testing.T)
}

// reading lists the properties of all files.
func (x *subject) reading() []property {
	return []property{
		{"Content", x.content},
		{"Detect", x.detect},
		{"OwnMemory", x.ownMemory},
		{"ZeroCopy", x.zeroCopy},
		{"Streaming", x.streaming},
		{"Verify", x.verify},
		{"CoveredData", x.coveredData},
		{"Hostile", x.hostile},
		{"Bounded", x.bounded},
		{"BrokenDisk", x.brokenDisk},
	}
}

// writing lists the properties of files that the writer produced.
func (x *subject) writing() []property {
	return []property{
		{"Truncation", x.truncation},
		{"Appended", x.appended},
		{"BitFlips", x.bitFlips},
		{"Overlap", x.overlap},
		{"Rewrite", x.rewrite},
		{"Targets", x.targets},
		{"DiskErrors", x.diskErrors},
	}
}

// scaling lists the properties of models with many or large tensors.
func (y *scales) scaling() []property {
	return []property{
		{"Allocations", y.allocations},
		{"LazyReader", y.lazyReader},
	}
}

// Run checks all properties of a format.
func Run(t *testing.T, c Config) {
	if c.MaxAllocs == 0 {
		c.MaxAllocs = 50
	}
	if c.Scale == nil {
		c.Scale = scale
	}
	seen := &tally{exempt: c.Exempt, checked: map[string]bool{}}
	for i := range c.Samples {
		s := &c.Samples[i]
		t.Run(s.Name, func(t *testing.T) {
			t.TempDir() // on systems without threads, the first call starts a goroutine that stays
			defer ended(t, runtime.NumGoroutine())
			x := newSubject(t, &c, s)
			seen.runAll(t, append(x.reading(), x.writing()...))
		})
	}
	for i := range c.Files {
		f := &c.Files[i]
		t.Run(f.Name, func(t *testing.T) {
			if f.Want != nil {
				refused(t, &c, f)
			} else {
				seen.runAll(t, foreign(t, &c, f).reading())
			}
		})
	}
	if _, ok := c.Format.Driver().(driver.Writer); ok {
		t.Run("scale", func(t *testing.T) { seen.runAll(t, (&scales{&c, seen}).scaling()) })
	}
	t.Run("Complete", seen.complete)
}

// patience is the longest wait for goroutines that are about to end.
var patience = time.Minute

// ended fails if more goroutines run than before. It waits for those that are about to end.
func ended(t *testing.T, before int) {
	for wait := time.Microsecond; wait < patience; wait *= 2 {
		if runtime.NumGoroutine() <= before {
			return
		}
		time.Sleep(wait)
	}
	t.Errorf("%d more goroutines than before, %d in all", runtime.NumGoroutine()-before, runtime.NumGoroutine())
}
