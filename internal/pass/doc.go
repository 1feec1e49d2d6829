// Package pass reads the bytes of ranges of files. It has the only loop over the bytes of a range,
// and it is the only place that decides how they are read. Verification, Decode, ReadInto, Digest,
// Load, Stream, signatures, conversions and copies use it.
//
// # How bytes are read
//
//	file                                   bytes
//	memory                                 where they are
//	reader                                 in large reads: Pass.Fetch
//	mapping, if the program has used them  where they are
//	mapping, if the pass is small          where they are
//	mapping, if they are used next         where they are; a system call maps the pages first
//	mapping otherwise                      by pread, in pieces that stay in a cache
//
// ReadEach reads neighbors into their memory by one preadv. Pieces of a buffer would be copied.
//
// The first access to a mapped page costs a page fault, or a share of a system call, and later a
// share of munmap. Reading it by pread costs a copy, which is less, and the process does not grow.
// On pages that are mapped already, the copy would be the largest cost.
//
// The package imports no package that knows models or formats.
package pass
