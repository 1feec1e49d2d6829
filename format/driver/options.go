package driver

import (
	"context"
	"time"
)

// Options are what a parser needs to know of how a file is opened. They are
// checked and complete: Context is not nil, and of the limits only those may be
// unset that depend on what is stored.
type Options struct {
	// Context ends long work of Parse.
	Context context.Context
	// Check says which sums opening verifies.
	Check Check
	// MaxTensors and MaxHeaderBytes are limits of format.Options.
	MaxTensors     int
	MaxHeaderBytes int64
	// MaxMetadataBytes and MaxGraphBytes are 0 unless the caller set them: see
	// MetadataLimit and GraphLimit.
	MaxMetadataBytes int64
	MaxGraphBytes    int64
	// Key decrypts an encrypted file: 32 bytes for AES-256.
	Key []byte
	// Memory is the account of the model, for what a parser and its File allocate
	// in proportion to the file. It may be nil.
	Memory *Memory
}

// MetadataLimit returns how many bytes a compressed metadata section that is
// stored in so many may inflate to.
func (o *Options) MetadataLimit(stored int64) int64 {
	return inflated(o.MaxMetadataBytes, DefaultMaxMetadataBytes, stored)
}

// GraphLimit is MetadataLimit for a graph.
func (o *Options) GraphLimit(stored int64) int64 {
	return inflated(o.MaxGraphBytes, DefaultMaxGraphBytes, stored)
}

// Without limits of the caller's, a section may inflate to so many times its
// stored size, to the floor in any case, and to the maximum at most.
const (
	DefaultMaxMetadataBytes = 64 << 20
	DefaultMaxGraphBytes    = 1 << 30

	inflationRatio = 256
	inflationFloor = 16 << 20
)

// inflated returns the caller's limit, or the default one, which grows with
// what is stored.
func inflated(set, most, stored int64) int64 {
	switch {
	case set > 0:
		return set
	case stored >= most/inflationRatio:
		return most
	}
	return min(most, max(inflationRatio*stored, inflationFloor))
}

// Check says which checksums are verified, and when. The layout itself is
// always checked.
type Check uint8

const (
	// CheckDefault verifies on open what covers the structure; data is verified
	// on request, or before its first use where the format demands that (mobi).
	CheckDefault Check = iota
	// CheckStructure verifies no checksums, on open or before first use: the
	// layout is sound, and what the bytes say is the caller's concern.
	CheckStructure
	// CheckTouch verifies on open what covers the structure, and every sum that
	// covers data before the first byte of that data is handed out, once.
	CheckTouch
	// CheckAll verifies everything on open, as Model.Verify does.
	CheckAll
)

// Sums reports whether the sums of the structure are verified on open.
func (c Check) Sums() bool { return c != CheckStructure }

// Valid reports whether c is one of the constants.
func (c Check) Valid() bool { return c <= CheckAll }

// WriteOptions are what a format needs to know of how a file is written. They
// are checked and complete.
type WriteOptions struct {
	// Context cancels; it is not nil.
	Context context.Context
	// Time is the creation time that formats record, zero for none: see Created and Signed.
	Time time.Time
	// Path is the name of the file to come, "" when it is written to an io.Writer.
	Path string
	// NoSync commits without waiting for stable storage.
	NoSync bool
	// KeepNames has a format that gives tensors names of its own keep those of the
	// plan as well, for Restorer.
	KeepNames bool
}

// Progress is called now and then with the bytes done, the bytes there are,
// and the tensor (or section) at work. Calls do not overlap.
type Progress func(done, total int64, tensor string)

// Created returns the creation time in Unix seconds, 0 when there is none: the clock is not asked.
func (o *WriteOptions) Created() int64 {
	if o.Time.IsZero() {
		return 0
	}
	return o.Time.Unix()
}

// Signed returns the time of a signature in Unix seconds, which is now when no time was given.
func (o *WriteOptions) Signed() int64 {
	if o.Time.IsZero() {
		return time.Now().Unix()
	}
	return o.Time.Unix()
}
