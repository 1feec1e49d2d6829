// Package disk has the files of one model: names, directories, links, and how new files appear. It
// needs no format.
//
// A file is written under a hidden name in the directory of the file that it replaces, and appears
// by one rename. Every change to the disk asks a hook (see [SetHook]).
package disk
