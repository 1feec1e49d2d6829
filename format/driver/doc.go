// Package driver defines what a file format implements. Programs that read and write models use
// package format. This package may change in any minor release.
//
// A driver parses a file and returns data: where its tensors are, which checksums cover them,
// metadata and graph. The engine does everything else for all formats: mapping, views,
// verification, guards against files that are cut short, reading through an io.ReaderAt, atomic
// writing.
//
//	type safetensors struct{}
//
//	func (safetensors) Describe() driver.Description { ... }             // name, file endings
//	func (safetensors) Detect(head []byte, size int64) bool { ... }      // by content
//	func (safetensors) Parse(src driver.Source, x *driver.Index, o *driver.ParseOptions) (*driver.Parsed, error) { ... }
//	func (safetensors) Losses(p *schema.Schema, o *driver.LayoutOptions, l *schema.LossList) error { ... }
//	func (safetensors) Layout(p *schema.Schema, o *driver.LayoutOptions) (*driver.Layout, error) { ... }
//
//	// Format is what programs see: its fields are the options that only this format has.
//	type Format struct{}
//
//	func (Format) Driver() driver.Driver { return safetensors{} }
//
//	func init() { format.Register(Format{}) }
//
// # Reading
//
// Parse reads the structure of a file, fills the Index with its tensors, and returns the rest in a
// Parsed: metadata, graph, notes, signature, and functions such as Load (tensors that are
// compressed or encrypted). It declares the checksums that the file records: Sums of parts of the
// file, SumsOf for the tensors that these cover, TensorSum of single tensors. The engine compares
// them: Source.Compare while Parse runs, before the first use of the bytes they cover, and in
// Verify.
//
// Input is hostile. Compare every count with the remaining bytes before you
// allocate for it, and check every offset and product. Errors are *tensor.Error
// values with field and offset that wrap a sentinel of this package or package tensor;
// the engine adds the path. After Parse the engine checks that every tensor
// lies inside its file and has the size of its shape and dtype; otherwise
// opening fails.
//
// Every tensor is in a Space: the file itself, or another file of its directory
// (Source.Dir). Parsed.Load returns tensors that the file stores in another form.
//
// # Optional abilities
//
// A Driver may also be a DirParser (a directory is a model), a PartsParser (parts that no index
// lists), a FolderParser (an archive that was unpacked), a Vocabulary (operators of graphs) and, if
// it is a Writer, a Splitter (WriteOptions.MaxShard).
//
// # Writing
//
// A format that can be written implements Writer. If all offsets follow from the
// schema, Layout returns them, and the engine streams, spools, orders and patches.
// If offsets depend on data (compression, signatures), Layout returns a Layout with
// Encode, which writes to a Target.
//
// Metadata values have the types of Entry; a format with a Description.TakeValue has more.
// Losses lists what the format cannot hold of a schema.
//
// # Trust
//
// Drivers run in the program that imports them and are trusted not to be
// malicious. The engine still checks their results since a file can mislead a
// parser.
//
// # Tests
//
// Package formattest tests any Driver against the rules here and the guarantees of
// package format. All formats of this module pass it.
package driver
