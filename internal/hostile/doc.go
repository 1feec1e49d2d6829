// Package hostile holds tests of all formats together against whoever owns the bytes:
// files that are overwritten, cut and replaced while they are open, bytes that are
// others at each look, and mutations whose checksums are right. CONTRIBUTING says how
// to run them for long.
package hostile
