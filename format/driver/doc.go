// Package driver defines what a file format implements. Programs that read and write models use package format.
// This package may change in any minor release.
//
// A driver parses a file and returns data: where its tensors are, which checksums cover them, metadata and
// graph. The engine does everything else for all formats: mapping, views, verification, guards against files that
// are cut short, reading through an io.ReaderAt, atomic writing.
//
//	type safetensors struct{}
//
//	func (safetensors) Describe() driver.Description { ... }             // name, file endings
//	func (safetensors) Detect(head []byte, size int64) bool { ... }      // by content
//	func (safetensors) Parse(src driver.Source, x *driver.Index, o *driver.Options) (*driver.Parsed, error) { ... }
//	func (safetensors) Layout(p *driver.Plan, o *driver.WriteOptions) (*driver.Layout, error) { ... }
//
//	func init() { format.Register(safetensors{}) }
//
// # Reading
//
// Parse reads the structure of a file, fills the Index with its tensors, and
// returns the rest in a Parsed: metadata, graph, notes, signature, and functions such as Load
// (tensors that are compressed or encrypted), TensorSum and Verify (checksums), and
// Touch (checksums to compare before the first use of the bytes they cover).
//
// Input is hostile. Compare every count with the bytes that are left before you
// allocate for it, and check every offset and product. Errors wrap a
// sentinel of this package and are *tensor.Error values with field and offset; the path is
// added for you. After Parse the engine checks every tensor once more:
// it is inside its file, and its size is that of its shape and dtype. A driver
// that says otherwise makes the open fail, not the program.
//
// Every tensor is in a Space: the file itself, or another file of its directory
// (Source.Dir). Tensors that are nowhere as such come from Parsed.Load.
//
// # Writing
//
// A format whose offsets follow from the plan implements Layouter: it returns
// where everything goes, and the engine streams, spools, orders and patches.
// One whose offsets depend on data (compression, signatures) returns a Layout with
// Encode, which writes to a Target itself.
//
// Values of metadata have the types of Entry; a format with a Description.TakeValue has more. What the format cannot
// hold of a plan it lists (Lossy). A format with a graph says what its
// operators mean (Vocabulary), so that package convert can translate graphs from and into those of others.
//
// # Trust
//
// Drivers run in the program that imports them and are trusted not to be
// malicious. The engine still checks what they return, because a parser that
// was fooled by a file looks the same as one that is right.
//
// # Tests
//
// Package formattest is the kit that all formats of this module pass. It runs on
// any Driver, and checks what is said here and what package format promises.
package driver
