// Package live keeps "the current model at this path" for services: a model is replaced
// while requests use it, and no request notices.
//
//	h, err := live.Open(path, &live.Options{Verify: true, Warm: true})
//	go h.Watch(ctx)
//
//	l, err := h.Acquire() // each request
//	defer l.Release()
//	m := l.Model()
//
// # Generations and leases
//
// A Handle has one current generation: an open model, and what Options.Prepare made of it.
// Handle.Acquire holds it, in some ten nanoseconds and without a lock, until Lease.Release: within a lease all tensors are
// of one file, and raw slices of them stay valid. What a request computes with one lease
// belongs wholly to one generation; with two it may not.
//
// Handle.Reload opens what the path leads to by now, verifies it, has the program validate it, prepares and
// warms it, and looks whether the files are still those it began with. Only then it becomes current. A file that is
// corrupt, cut off, unsigned or signed by another (format.Options.Trusted), or not what the program wants never does: the
// old generation stays, Reload returns why, and Stats says so.
//
// The old generation is closed, and its memory unmapped, when its last lease is released. Unmapping takes milliseconds, so
// Reload waits some 30 ms for short leases to end and does it itself; of longer ones the last Release starts a
// goroutine for it. While old and new are open, both are mapped.
//
// A Lease must not be copied, which go vet reports. To release one twice does nothing; to release a copy
// as well takes a hold from somebody else, and is only noticed when the counts do not add up
// at the end of the generation, which is a panic.
//
// # Models larger than memory
//
// Options.Hot names the tensors that every request needs, such as embeddings of common words. They are locked in physical memory
// before a generation becomes current (View.Lock), so that requests for them never wait for the disk, while the
// system takes and reads again the pages of the others. The process must be allowed to lock as much (RLIMIT_MEMLOCK).
//
// # Watching
//
// Handle.Watch compares device, inode, size, modification time and ctime of what the path leads to, through links.
// That needs no notifications and no descriptors, works on network disks, and with volumes of Kubernetes:
// a ConfigMap, or what an init container writes, is a link to ..data, which is a link to a directory that is
// replaced as a whole. Give the path of the file in the volume, not one that was resolved. (A volume that is mounted
// with subPath never changes.)
//
// Files that are renamed into place are taken as they are, which is how the writers of this module replace a model. A file that is copied
// into place is not looked at until two looks agree, and refused if it is not whole then; where a copy may
// stall for longer than Options.Interval, and the format has no checksums, use a name of its own and rename it.
//
// A model of several files (a directory of TSR files, shards of safetensors or GGUF, external data) is
// as current as all of them. All are mapped when it is loaded. When one changes, all are loaded. A directory has also changed
// when its list of entries did. Every file is looked at each time, which takes a microsecond or so for each. Replace the
// shards of a model before their index, or the whole directory by a link: what is loaded in between holds
// files of two versions, as any reader would find them.
//
// Windows replaces no file that is mapped: renaming onto it fails while a generation has it open. Set
// Options.Copy there, so that each generation is in memory, or give every version another name and open that.
//
// # Detached signatures
//
// With a *signing.Policy as format.Options.Trusted, the bundle next to the model is one of its files: it is watched
// with them, and read at each reload. A model without it, with that of another signer, or of which only
// some files were replaced, is refused, and the old one stays. A file that is signed and not part of the model, such as
// a tokenizer's, is hashed but not watched: write the bundle last.
//
// # Files that are overwritten in place
//
// A program that writes into the file itself (cp new.mag live.mag, rsync --inplace) changes the memory of everybody who
// has it mapped, and cuts it short at first. Where that may happen, set Options.Copy: each generation
// is read into memory once, and verified there. Without it:
//
//   - Model.Do, View.Use and what else is guarded in package format survive: a request that needs bytes that are not
//     there fails with ErrTruncated. Raw slices outside of Do do not.
//   - Watch and Reload notice that a file is the same one and has another size, modification time or ctime (Linux, Android,
//     macOS and iOS). Renaming it, linking it and changing its permissions change the ctime too and count as well. They say so in Stats.Overwritten,
//     by Options.Notify and in the metrics, and load it anew, verified like any other. As long as
//     that is refused, the generation with the changed memory stays current: a service that
//     cannot have that takes Stats.Overwritten for being unhealthy.
//   - Lease.Intact asks at once. What was computed before it returned nil was computed from the files as they were loaded.
//   - They do not notice what is written within the resolution of the file system's clock (some milliseconds,
//     on some network disks seconds), through a mapping that the system has not written back yet, or on another
//     machine whose changes this one has not heard of; nor, where only the modification time is compared, what is
//     written by a program that sets that time back. Checksums find that, whenever Model.Verify is called.
package live
