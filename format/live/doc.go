// Package live keeps the current model at a path open for a service, and replaces it when the file
// is replaced, while requests use it.
//
//	h, err := live.Open(ctx, path, &live.Options{Verify: true, Warm: true})
//	go h.Watch(ctx)
//
//	l, err := h.Acquire() // each request
//	defer l.Release()
//	m := l.Model()
//
// # Generations and leases
//
// A Handle has one current generation: an open model, and the result of Options.Prepare for it.
// Handle.Acquire returns a Lease of it, without a lock and in some ten nanoseconds. Until
// Lease.Release all tensors of the lease are of that generation, and raw slices of them stay valid.
// A request that takes two leases may see two generations.
//
// Handle.Reload opens the model that is now at the path, verifies, validates, prepares and warms
// it, and checks that its files did not change meanwhile. Only then the model becomes current. If
// anything fails (the file is corrupt, cut short, unsigned or signed by another key, or
// Options.Validate refuses it), the old generation stays current, Reload returns the error, and
// Stats reports it.
//
// The old generation is closed and unmapped when its last lease is released. Unmapping takes
// milliseconds: Reload waits about 30 ms for leases to end and unmaps the file itself; after that
// the last Release starts a goroutine for it. While both generations are open, both are mapped.
//
// A Lease must not be copied; go vet reports it. A second Release of a lease does nothing, but a
// Release of a copy releases another holder's lease. That is detected only when the generation
// ends, and panics.
//
// # Models larger than memory
//
// Options.Hot names tensors that every request needs, such as embeddings of common words. They are
// locked in physical memory (View.Lock) before a generation becomes current, so that requests for
// them never wait for the disk, while the system evicts and reads the pages of the other tensors as
// it needs. RLIMIT_MEMLOCK must allow it.
//
// # Watching
//
// Handle.Watch compares device, inode, size, modification time and ctime of the files at the path,
// and follows links. It needs no notifications and no descriptors, and works on network disks and
// Kubernetes volumes, where ..data is a link to a directory that is replaced as a whole. Open the
// path in the volume, not the resolved one. A volume that is mounted with subPath never changes.
//
// A file that is renamed into place, as the writers of this module do, is loaded at once. A file
// that is copied into place is loaded when two looks at it agree, and refused if it is then
// incomplete. If a copy may stall for longer than Options.Interval and the format has no checksums,
// copy to another name and rename the file.
//
// A model of several files (a directory of TSR files, shards, external data) changes when any of
// them does, and is then loaded as a whole; a directory also changes when its list of entries does.
// Every file is looked at each time, which takes about a microsecond each. Replace shards before
// their index, or the whole directory by a link: a load in between finds files of two versions, as
// any reader would.
//
// Windows does not replace a mapped file: renaming onto it fails while a generation has it open.
// Set Private in Options.Open there, or give every version another name and open that.
//
// # Detached signatures
//
// With a *signing.Policy in format.Options.Trusted, the signature bundle is watched like a file of
// the model and read at each reload. A model without a bundle, with one by another signer, or of
// which only some files were replaced is refused. Signed files that are not part of the model, such
// as a tokenizer's, are neither compared nor watched: signing.Verify compares them. Write the
// bundle last.
//
// # Files that are overwritten in place
//
// A program that writes into the file itself (cp new.mag live.mag, rsync --inplace) cuts it short
// first, and changes the memory of every process that has it mapped. If that may happen, set
// Private in Options.Open: each generation is read into memory once and verified there. Without it:
//
//   - Guarded calls (Model.Guard, View.Use and others, see package format) that need missing bytes return ErrTruncated.
//     A raw slice used outside of Do ends the process.
//   - Watch and Reload notice a change of size, modification time or ctime of the same file, on Linux, Android, macOS and
//     iOS. They set Stats.Overwritten, call Options.Notify, and load the file again, verified like any other.
//     Renaming a file, linking it and changing its permissions count as well, since they change the ctime. Until a load succeeds the
//     generation with the changed memory stays current; a service that cannot accept that
//     treats Stats.Overwritten as unhealthy.
//   - Lease.Intact checks at once: what was computed before it returned nil was computed from the files as loaded.
//   - No check notices a write within the resolution of the file system's clock (milliseconds, on some network disks
//     seconds), through a mapping that was not written back yet, on another machine that did not
//     announce it, or, where only the modification time is compared, by a program that sets that time back. The checksums of
//     Model.Verify find those.
package live
