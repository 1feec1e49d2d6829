// Package load opens models: it has a driver parse the files and serves what the driver listed. It makes
// views of tensors, copies of tensors that cannot be viewed in place, and spaces for the other files of a model. It
// checks sums before the first use, verifies, and turns faults in files that were cut short into errors.
//
// The hops from opening to a typed slice:
//
//	format.Open      picks a driver by content
//	source.Open      maps the file
//	load.Model.Open  has driver.Parse fill a driver.Index, and checks where it says that tensors are
//	Model.Tensor     looks a name up in the Index and makes a tensor.View over the mapping
//	tensor.As        checks dtype and alignment, has Lend look for Close and first use, and casts
//
// # Locking
//
// The region of the file is the gate of the whole model: every use of any of its
// files goes through Enter and Leave of that region, and the others go when its
// memory goes. Nothing below takes a lock while it holds another, except for
// the cells of single tensors, which are taken before everything else.
package load
