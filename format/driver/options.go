package driver

import (
	"context"
	"time"
)

// Options are what a parser needs to know of how a file is opened. They are
// checked and complete: every limit is set, and Context is not nil.
type Options struct {
	// Context ends long work of Parse.
	Context context.Context
	// Check says which sums opening verifies.
	Check Check
	// MaxTensors, MaxHeaderBytes, MaxMetadataBytes and MaxGraphBytes are limits of
	// format.Options. Default*Bytes tell whether the caller set a limit.
	MaxTensors       int
	MaxHeaderBytes   int64
	MaxMetadataBytes int64
	MaxGraphBytes    int64
	// Key decrypts an encrypted file: 32 bytes for AES-256.
	Key []byte
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
	// Time is the creation time that formats record.
	Time time.Time
	// Path is the name of the file to come, "" when it is written to an io.Writer.
	Path string
	// NoSync commits without waiting for stable storage.
	NoSync bool
}

// Progress is called now and then with the bytes done, the bytes there are,
// and the tensor (or section) at work. Calls do not overlap.
type Progress func(done, total int64, tensor string)
