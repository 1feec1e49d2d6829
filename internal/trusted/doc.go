// Package trusted tests what Options.Trusted promises with one table: every function that opens a
// model, every kind of model, every moment at which a file can change, and every file and piece of
// a file that can.
package trusted
