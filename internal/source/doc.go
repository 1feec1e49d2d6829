// Package source owns the bytes of a model: a memory-mapped file or a window
// of one, the caller's memory, or a reader or file that is asked when bytes are wanted.
//
// # Lifetime
//
// A [Region] begins open and is closed once. In between its memory is held
// in three ways, which differ in what Close does:
//
//   - Enter and Leave frame a short use. Close waits for those that run.
//   - Pin is a long hold. Close returns, and the memory stays until the last unpin.
//   - Lend announces that a raw slice leaves the library. Close does not wait:
//     the slice dies with it.
//
// After Close began, Enter, Pin and Lend fail with tensor.ErrClosed, so nobody
// begins to use memory that is about to go. One atomic word counts all of it, until
// goroutines meet there: then short uses are counted in a cache line for each.
//
// A Region that is dropped without Close is unmapped by the garbage collector,
// unless a slice was lent: nothing tells how long that lives, and memory that
// vanishes under it would end the process, or worse, show another file.
//
// # After Close
//
// The kernel gives unmapped addresses out again, so a slice kept beyond Close
// may read another file's bytes without any fault. With [Options].Debug, or the
// build tag weightmap_debug, Close makes the memory inaccessible instead of
// unmapping it and keeps its addresses for the life of the process: use after
// Close then ends the program at the spot. (Linux, Android, macOS and iOS;
// elsewhere Debug changes nothing.)
//
// # Truncation
//
// Touching a page that lies wholly past the end of a file that was cut while
// it was mapped raises SIGBUS, which ends the process. [Region.Guard] and
// [Region.ReadAt] make that an error which wraps tensor.ErrTruncated. Raw
// slices are not guarded. In the page that holds the new end the kernel shows
// zeros instead, which only checksums can tell from data.
//
// Renaming another file over a mapped one does not disturb the mapping.
//
// # On demand
//
// A file that is not mapped keeps its descriptor, and is read when bytes are requested: where the
// system has no room for another mapping or the file is larger than the address space. It is the
// file that was opened, even when another file has its name by then.
//
// # How bytes are mapped
//
// golang.org/x/exp/mmap maps by file name and keeps the bytes private; the file
// reflect.go says how they are reached. Descriptors are mapped through the names
// the system has for them (/proc/self/fd, /dev/fd). So are files: they are opened so
// that nothing has to be waited for, and that very file is mapped, whatever
// has its name by then. Where x/exp/mmap does not
// map, or the file system cannot, the bytes are read into a heap buffer aligned
// to 64 bytes, and everything else stays the same; on demand if they may not be held.
//
// # Page faults
//
// A goroutine that touches a mapped page which is not in memory keeps its processor while the disk
// reads, and others wait. So what is read in bulk is populated first, in a system call, for whose time the
// scheduler gives the processor to others: see [Region.Populate] and the benchmark lateness.
//
// # How files are parsed
//
// With [Options].Parse the descriptor stays open until [Region.Parsed], and ReadAt reads
// from it. The first touch of a mapped page is what an open costs most, half of it when the
// mapping goes and other processors have to be told; so a model is parsed without, and what
// was read is private memory that no other process changes. Peek reads the beginning of a
// file that is to be mapped later, and its ID; Options.Same then insists on that file.
package source
