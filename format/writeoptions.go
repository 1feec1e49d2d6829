package format

import (
	"context"
	"crypto"
	"os"
	"time"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/codec"
)

// WriteOptions changes how a model is written. Nil and the zero value work.
type WriteOptions struct {
	// Format is the format to write, with the options that only it has, such as mle.Format{Chunked:
	// true}, or one from ByName. With nil, the extension of the path chooses it; a Writer to an
	// io.Writer needs one.
	Format Format
	// Context cancels writing. Nil means context.Background.
	Context context.Context
	// Progress is called as data is written, by the goroutine that writes. It must not call the
	// Writer.
	Progress Progress
	// Time is the creation time that formats record, and the time of a signature. With the zero
	// Time a file has no creation time, so that the same schema gives the same bytes, and a
	// signature has the current time.
	Time time.Time
	// NoSync skips fsync: after a crash of the system the file may be lost or empty. Nothing that a
	// model in several files replaces is removed then, as with KeepOld, except an index.
	NoSync bool
	// KeepOld leaves shards and external data that the new model no longer names, and the file that
	// a model in shards replaces: its path then opens the old model, the index and the directory
	// the new one. Set it where removing a file breaks the programs that have it open, as on
	// network file systems. An index that would hide the new file is removed nevertheless.
	KeepOld bool
	// Spool says where NewWriter keeps data that cannot be written from front to back.
	Spool Spool
	// AcceptLoss lists losses to accept when the format cannot hold all of the schema: kinds
	// ("metadata") or single ones ("metadata:author", Loss.Item). Any other loss is refused with a
	// LossError before anything is written. Losses that do not occur are ignored; an unknown kind
	// is ErrSchema.
	AcceptLoss []string
	// KeepNames stores the schema's names of tensors, and quantization parameters that have no
	// other place, in a file of a format that numbers its tensors (MOBI). Other readers ignore
	// them; Model.RestoreNames and package convert restore them.
	KeepNames bool
	// MaxShard splits a model of safetensors or GGUF into files with at most this many bytes of
	// tensors, or one larger tensor, in the schema's order; 0 means one file. Create for
	// "m.safetensors" makes "m-00001-of-00002.safetensors" and so on, and
	// "m.safetensors.index.json", which opens the model. They appear together and replace the
	// previous model at the path. If there is an index already, or a file with one of these names,
	// the names have digits that never come again, "m-3f9a01c2-00001-of-00002.safetensors":
	// Writer.Files has them after Close. GGUF has no index: the first part opens the model, and a
	// split model is only written where none is (fs.ErrExist). A model that fits in one file has
	// the given path.
	MaxShard int64

	// The options from here to ExternalFrom set how a file stores its tensors: compressed,
	// encrypted, signed, aligned. They change no value of a tensor. One that the format lacks is
	// ErrOption.

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
	// ExternalFrom moves tensors of at least this many bytes to a data file next to the model; 0
	// moves none. One process may write the model from several goroutines; several processes must
	// take turns.
	ExternalFrom int64
	// External is what the location of that file begins with, relative to the model's directory and
	// with slashes; "" means the name of the model's file. A hash of the data follows, so that a
	// new file never replaces one that a model needs: the data of "m.onnx" is in "m.onnx.<16
	// hexadecimal digits>.data".
	External string
}

// With returns a copy of the options with another Format. It works on nil.
func (o *WriteOptions) With(f Format) *WriteOptions {
	c := WriteOptions{}
	if o != nil {
		c = *o
	}
	c.Format = f
	return &c
}

// Spool says where NewWriter keeps tensors that are written out of order, and files whose header
// depends on their data, until they can be written.
type Spool uint8

// The values of Spool.
const (
	SpoolFile   Spool = iota // in a temporary file
	SpoolMemory              // in memory
	SpoolNever               // nowhere: what cannot be streamed is ErrUnsupported
)

// checkWriteOptions returns a copy with a context; o may be nil. An option that makes no sense, or
// that the format of d lacks, is ErrOption.
func checkWriteOptions(o *WriteOptions, d driver.Driver) (*WriteOptions, error) {
	var c WriteOptions
	if o != nil {
		c = *o
	}
	switch {
	case c.Spool > SpoolNever:
		return nil, driver.OptionError("", "Spool", "%d", c.Spool)
	case c.MaxShard < 0:
		return nil, driver.OptionError("", "MaxShard", "%d", c.MaxShard)
	}
	if c.Context == nil {
		c.Context = context.Background()
	}
	desc := d.Describe()
	err := checkFeatures(&c, &desc)
	if err != nil {
		return nil, err
	}
	return &c, nil
}

// checkFeatures returns ErrOption for options that the format lacks.
func checkFeatures(o *WriteOptions, d *driver.Description) error {
	for _, wish := range []struct {
		asked bool
		needs driver.Features
		field string
		what  string
	}{
		{o.Compression != "", driver.Compresses, "Compression", "compression"},
		{o.Signer != nil, driver.Signs, "Signer", "signatures"},
		{o.Key != nil, driver.Encrypts, "Key", "encryption"},
		{o.Align != 0 && !isMet64(o.Align, d), driver.Aligns, "Align", "such alignment"},
		{o.Extended, driver.Extends, "Extended", "extensions to choose"},
		{o.ExternalFrom != 0, driver.MovesData, "ExternalFrom", "external data"},
		{o.External != "", driver.MovesData, "External", "external data"},
	} {
		if wish.asked && d.Stores&wish.needs == 0 {
			return driver.OptionError(d.Name, wish.field, "%s has no %s", d.Name, wish.what)
		}
	}
	switch {
	case o.Level != 0 && o.Compression == "":
		return driver.OptionError(d.Name, "Level", "%d needs Compression", o.Level)
	case o.Level < 0 || o.Level > 9:
		return driver.OptionError(d.Name, "Level", "%d, not 1 to 9", o.Level)
	case o.Align < 0 || o.Align&(o.Align-1) != 0:
		return driver.OptionError(d.Name, "Align", "%d is no power of two", o.Align)
	case o.ExternalFrom < 0:
		return driver.OptionError(d.Name, "ExternalFrom", "%d", o.ExternalFrom)
	}
	return nil
}

// isMet64 reports whether tensors have an alignment since the format always aligns them at 64.
func isMet64(align int64, d *driver.Description) bool {
	return d.Stores&driver.Aligns64 != 0 && align > 0 && 64%align == 0
}

// layoutOptions returns what a driver needs to write to path, "" for an io.Writer.
func layoutOptions(o *WriteOptions, path string) *driver.LayoutOptions {
	l := &driver.LayoutOptions{
		Context:      o.Context,
		Path:         path,
		IsDir:        isDirectory(path),
		Time:         o.Time,
		KeepNames:    o.KeepNames,
		Compression:  o.Compression,
		Level:        o.Level,
		Signer:       o.Signer,
		Key:          o.Key,
		Align:        o.Align,
		Extended:     o.Extended,
		ExternalFrom: o.ExternalFrom,
		External:     o.External,
	}
	if l.Compression != "" && l.Level == 0 {
		l.Level = codec.DefaultLevel
	}
	return l
}

// isDirectory reports whether a path is that of a directory: it ends in a separator, or there is
// one.
func isDirectory(path string) bool {
	if path == "" {
		return false
	}
	if os.IsPathSeparator(path[len(path)-1]) {
		return true
	}
	st, err := os.Stat(path)
	return err == nil && st.IsDir()
}
