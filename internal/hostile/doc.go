// Package hostile tests all formats against adversaries: files that are overwritten, truncated and
// replaced while they are open, readers that return different bytes each time, and mutations with
// correct checksums. CONTRIBUTING explains how to run the tests for longer.
package hostile
