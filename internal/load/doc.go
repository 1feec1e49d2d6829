// Package load is the engine that opens models. It calls a driver to parse the files and then serves the tensors that
// the driver listed: as views, or as copies if they cannot be viewed in place. It verifies checksums, on demand and
// before first use, and turns faults in files that are cut short into errors.
//
// The steps from opening to a typed slice:
//
//	format.Open      picks a driver by content
//	source.Open      maps the file
//	load.Model.Open  calls driver.Parse to fill a driver.Index, and checks the positions of tensors
//	Model.Tensor     looks a name up in the Index and makes a tensor.View over the mapping
//	tensor.As        checks dtype and alignment, calls Expose (Close, first use), and casts
//
// # Locking
//
// The region of the model's file guards the whole model: every use of any of its
// files is between Enter and Leave of that region, and the other files are closed
// when its memory is released. No code takes a lock while it holds another, except
// for the locks of single tensors, which are taken first.
package load
