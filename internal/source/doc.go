// Package source manages the bytes of a model: a memory-mapped file or a window
// of one, the caller's memory, or a reader or file that is read on demand.
//
// # Lifetime
//
// A [Region] is open at first and is closed once. There are three ways to hold
// its memory, which differ in the effect on Close:
//
//   - Enter and Leave enclose a short use. Close waits for it.
//   - Pin is a long hold. Close returns, and the memory stays until the last unpin.
//   - Expose marks that a raw slice was returned to the user. Close does not wait
//     and invalidates the slice.
//
// After Close began, Enter, Pin and Expose fail with tensor.ErrClosed, so that no
// new use begins. One atomic word counts all uses. Under contention short uses are
// counted in several cache lines.
//
// The garbage collector unmaps a Region that becomes unreachable without Close,
// unless a raw slice was returned: the slice may still be in use, and reading
// unmapped memory would crash the process or read another file.
//
// # After Close
//
// The kernel reuses unmapped addresses, so a slice used after Close may read
// another file's bytes without a fault. With [Options].Debug, or the build tag
// weightmap_debug, Close makes the memory inaccessible instead of unmapping it and
// reserves its addresses for the life of the process: use after Close then crashes
// the program at once. (Linux, Android, macOS and iOS; on other systems Debug has
// no effect.)
//
// # Truncation
//
// If a file is cut short while it is mapped, accessing a page beyond its new end
// raises SIGBUS, which kills the process. Package fault and [Region.ReadAt] turn
// that into an error which wraps tensor.ErrTruncated. Raw slices are not guarded. In
// the page that contains the new end the kernel returns zeros instead, which only
// checksums can detect.
//
// Renaming another file over a mapped one does not affect the mapping.
//
// # On demand
//
// If the system has no room for another mapping, or the file is larger than the address space, the
// file is not mapped: its descriptor stays open, and bytes are read on demand. Replacing the file
// by name has no effect.
//
// # How bytes are mapped
//
// golang.org/x/exp/mmap maps files by name and does not export the bytes; reflect.go
// gets them. Descriptors are mapped through their names in the file system
// (/proc/self/fd, /dev/fd). Files are opened without blocking and then mapped through
// their descriptor, so that the opened file is mapped even if it has been replaced. If
// x/exp/mmap does not support the system, or the file system does not support mapping,
// the bytes are read into a heap buffer aligned to 64 bytes, or on demand if they exceed
// the memory limit.
//
// # Page faults
//
// A goroutine that accesses a mapped page which is not in memory occupies its processor while the
// disk reads. So bulk reads populate pages first with a system call, during which the scheduler
// runs other goroutines: see [Region.Populate].
//
// # Sealed regions
//
// A file that must be as signed is sealed: see [Sealer]. Its region keeps 8 bytes for each 256 KiB,
// a hash under a seed of the process of what was authenticated. Every byte that is copied out of
// the region passes Region.read, which hashes whole pieces after the copy, in private memory, and
// compares them, each time. Bytes in place are compared once, by [Region.Show], when they are first
// used.
//
// # How files are parsed
//
// With [Options].Parse the descriptor stays open until [Region.Parsed], and ReadAt reads
// from it. Page faults would dominate the cost of opening, half of it for TLB shootdowns on
// unmapping. So parsing does not access the mapping, and its data is private memory that
// no other process changes.
package source
