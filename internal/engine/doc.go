// Package engine is everything that model formats share once a driver has said
// where the tensors of a file are: views, copies of what cannot be viewed where it
// is, other files of a model, sums before first use, verification and what it
// covered, guards against files that are cut short; and for writing order,
// spooling, late fields and the atomic end.
//
// The hops from opening to a typed slice:
//
//	format.Open      picks a driver by content
//	source.Open      maps the file
//	engine.Open      has driver.Parse fill a driver.Index, and checks where it says that tensors are
//	Model.Tensor     looks a name up in the Index and makes a tensor.View over the mapping
//	tensor.As        checks dtype and alignment, has Lend look for Close and first use, and casts
//
// # Locking
//
// The region of the file is the gate of the whole model: every use of any of its
// files goes through Enter and Leave of that region, and the others go when its
// memory goes. Nothing below takes a lock while it holds another, except for
// the cells of single tensors, which are taken before everything else.
package engine
