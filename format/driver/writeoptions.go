package driver

import (
	"context"
	"crypto"
	"time"
)

// WriteOptions changes how a model is written. Nil and the zero value work.
type WriteOptions struct {
	// Context cancels writing. Nil means context.Background.
	Context context.Context
	// Progress is called as data is written, by the goroutine that writes. It must not call the Writer.
	Progress Progress
	// Time is the creation time that formats record, and the time of a signature. With the zero Time
	// a file has no creation time, so that the same schema gives the same bytes, and a signature has the current time.
	Time time.Time
	// NoSync skips fsync: after a crash of the system the file may be lost or empty. Nothing that a model in several
	// files replaces is removed then, as with KeepOld, except an index.
	NoSync bool
	// KeepOld leaves shards and external data that the new model no longer names, and the file that a model in shards
	// replaces: its path then opens the old model, the index and the directory the new one. Set it where removing a file breaks
	// the programs that have it open, as on network file systems. An index that would hide the new file is removed nevertheless.
	KeepOld bool
	// Spool says where NewWriter keeps data that cannot be written from front to back.
	Spool Spool
	// AcceptLoss lists losses to accept when the format cannot hold all of the schema: kinds ("metadata") or
	// single ones ("metadata:author", Loss.Item). Any other loss is refused with a LossError before
	// anything is written. Losses that do not occur are ignored; an unknown kind is ErrSchema.
	AcceptLoss []string
	// KeepNames stores the schema's names of tensors, and quantization parameters that have no other place,
	// in a file of a format that numbers its tensors (MOBI). Other readers ignore them; Model.RestoreNames
	// and package convert restore them.
	KeepNames bool
	// MaxShard splits a model of safetensors or GGUF into files with at most this many bytes of tensors,
	// or one larger tensor, in the schema's order; 0 means one file. Create for "m.safetensors" makes
	// "m-00001-of-00002.safetensors" and so on, and "m.safetensors.index.json", which opens the
	// model. They appear together and replace the previous model at the path. If there is an index already, or a file
	// with one of these names, the names have digits that never come again, "m-3f9a01c2-00001-of-00002.safetensors":
	// Writer.Files has them after Close. GGUF has no index: the first part opens the model, and a split model is only
	// written where none is (fs.ErrExist). A model that fits in one file has the given path.
	MaxShard int64

	// The options from here to ExternalFrom set how a file stores its tensors: compressed, encrypted, signed, aligned. They
	// change no value of a tensor. One that the format lacks is ErrOption.

	// Compression names a method: "gzip", "zstd", "lz4" or "brotli".
	Compression string
	// Level is the effort of the compression, from 1 (fast) to 9 (small); 0 means 6.
	Level int
	// Signer signs the file: an Ed25519, RSA or ECDSA key, as the format supports. A nil key
	// inside, such as ed25519.PrivateKey(nil), is ErrKey.
	Signer crypto.Signer
	// Key encrypts the file with AES-256-GCM. It has 32 bytes, or is nil for no encryption; any
	// other length is ErrKey.
	Key []byte
	// Align is the alignment of each tensor's data in the file, in bytes: a power of two.
	Align int64
	// Extended allows extensions of the format that other readers may not support, such as
	// dtypes that its specification lacks.
	Extended bool
	// ExternalFrom moves tensors of at least this many bytes to a data file next to the model; 0 moves
	// none. One process may write the model from several goroutines; several processes must take turns.
	ExternalFrom int64
	// Format has the options of one format: its WriteOptions or a pointer to them, such as
	// *mle.WriteOptions, whose embedded format.WriteOptions must be zero: those around them apply. Another type is
	// ErrOption.
	Format any

	// Path is for drivers: the path of the new file, "" for an io.Writer. Programs leave it empty.
	Path string
}

// Spool says where NewWriter keeps tensors that are written out of order, and files whose header depends
// on their data, until they can be written.
type Spool uint8

// The values of Spool.
const (
	SpoolFile   Spool = iota // in a temporary file
	SpoolMemory              // in memory
	SpoolNever               // nowhere: what cannot be streamed is ErrUnsupported
)

// Progress is called from time to time with the number of bytes done, the total, and the name of the
// tensor or section in progress. Calls do not overlap.
type Progress func(done, total int64, tensor string)

// CreationTime returns the creation time to record in Unix seconds, 0 for none.
func CreationTime(o *WriteOptions) int64 {
	if o.Time.IsZero() {
		return 0
	}
	return o.Time.Unix()
}

// SignatureTime returns the time of a signature in Unix seconds: now, unless Time is set.
func SignatureTime(o *WriteOptions) int64 {
	if o.Time.IsZero() {
		return time.Now().Unix()
	}
	return o.Time.Unix()
}
