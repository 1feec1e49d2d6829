// Package gates has a test that finds second ways: each of a few things is done by one function or
// package, through which everything passes, and the test lists who else may do it, and why.
//
//	gate      what passes it                              where
//	open      files opened by name                        internal/disk; internal/source for the file that the user names
//	map       mappings                                    internal/source
//	read      ranges of files that are read               internal/pass
//	inflate   compressed data                             internal/codec
//	sum       checksums and hashes that are compared      internal/checksum, and internal/pass for what was parsed or signed
//	publish   changes to the disk                         internal/disk
//	below     imports of packages that know formats       not from the packages below format/driver
package gates
