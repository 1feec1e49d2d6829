package driver

import (
	"context"
	"crypto"
	"time"
)

// ParseOptions are the options of a program (format.Options) that concern a parser.
type ParseOptions struct {
	// Context cancels parsing. It must not be used later.
	Context context.Context
	// CheckSums means that the checksums of the structure are verified (Source.Compare does that).
	CheckSums bool
	// Key is the AES-256 key of an encrypted file, or nil.
	Key []byte
	// Memory is the account for what the model allocates.
	Memory *Memory
}

// LayoutOptions are the options of a program (format.WriteOptions) that concern how a file is laid
// out. The engine has refused those that the format lacks (Description.Stores).
type LayoutOptions struct {
	// Context cancels writing.
	Context context.Context
	// Path is that of the new file, "" for an io.Writer.
	Path string
	// IsDir means that Path is that of a directory: it ends in a separator, or a directory is
	// there.
	IsDir bool
	// Time is the creation time to record, and the time of a signature. It may be zero.
	Time time.Time
	// KeepNames asks for the names of the schema in a format that numbers its tensors.
	KeepNames bool
	// Compression names a method, "" for none.
	Compression string
	// Level is from 1 to 9, or 0 for the default and without a compression.
	Level int
	// Signer signs the file, nil for no signature.
	Signer crypto.Signer
	// Key encrypts the file, nil for no encryption. It may have any length.
	Key []byte
	// Align is the alignment of data, a power of two, or 0.
	Align int64
	// Extended allows extensions of the format.
	Extended bool
	// ExternalFrom moves tensors of at least this many bytes to another file; 0 moves none.
	ExternalFrom int64
	// External is the beginning of the location of that file, "" for the name of the model's file.
	External string
}

// Created returns the creation time to record in Unix seconds, 0 for none.
func (o *LayoutOptions) Created() int64 {
	if o.Time.IsZero() {
		return 0
	}
	return o.Time.Unix()
}

// Signed returns the time of a signature in Unix seconds: now, unless Time is set.
func (o *LayoutOptions) Signed() int64 {
	if o.Time.IsZero() {
		return time.Now().Unix()
	}
	return o.Time.Unix()
}
