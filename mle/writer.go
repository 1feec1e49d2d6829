package mle

import (
	"crypto/ed25519"
	"fmt"
	"io"

	"github.com/weightmap/weightmap/format"
	codecs "github.com/weightmap/weightmap/internal/codec"
	"github.com/weightmap/weightmap/internal/codec/brotli"
	"github.com/weightmap/weightmap/internal/sink"
	"github.com/weightmap/weightmap/tensor"
)

// WriteOptions changes how a file is written. Nil and the zero value write
// version 2 with plain weights, ready to be mapped.
type WriteOptions struct {
	format.WriteOptions
	// Version is 1 or 2; 0 means 2. Version 1 has no checksums, and none of the
	// options below but IR.
	Version int
	// HeaderSize is 144, what the specification's struct adds up to and the
	// reference implementation demands, or 128, what its text says; 0 means 144.
	// This package reads either.
	HeaderSize int
	// Compression compresses the weights. MethodInt8 and MethodFloat16 are lossy
	// and for models of float32 tensors alone; MethodBrotli takes the package
	// mle/brotli.
	Compression Method
	// Level goes from 1 (fast) to 9 (small); 0 means 6.
	Level int
	// Chunked compresses each tensor by itself, in pieces of ChunkSize bytes, so
	// that a tensor is read without the others. It needs Compression.
	Chunked   bool
	ChunkSize int64 // 0 means 4 MiB; rounded up to a multiple of 64
	// Key encrypts the weights with AES-256-GCM: 32 bytes. They are held in
	// memory until Close, since the cipher takes them in one piece.
	Key []byte
	// Signer signs the file; WriteOptions.Time is the time of signing.
	Signer ed25519.PrivateKey
	// IR is written instead of Plan.Graph, with its ids as they are and
	// placeholders in their places. Its constants must be the plan's tensors, in
	// the plan's order, by name, dtype and shape; offsets, sizes and dtype codes
	// of constants are the writer's.
	IR *IR
}

const defaultChunk = 4 << 20

// Create starts writing a file to path, in a temporary file that takes its place
// on Close. Nil options work.
func Create(path string, p *format.Plan, o *WriteOptions) (format.Writer, error) {
	o = o.orDefault()
	return o.codec().CreateFile(path, p, &o.WriteOptions)
}

// NewWriter starts writing a file to w. Nil options work. A version 2 file is
// assembled elsewhere first, as Spool says, since its header holds checksums of
// what follows. Version 1 can be streamed with SpoolNever, when the tensors
// come in the plan's order.
func NewWriter(w io.Writer, p *format.Plan, o *WriteOptions) (format.Writer, error) {
	o = o.orDefault()
	return o.codec().NewWriter(w, p, &o.WriteOptions)
}

func (o *WriteOptions) orDefault() *WriteOptions {
	if o == nil {
		o = &WriteOptions{}
	}
	return o
}

// codec returns the registered codec with these options for writing.
func (o *WriteOptions) codec() *format.Codec {
	c := codec
	c.Encode = func(t sink.Target, p *format.Plan, common *format.WriteOptions) (format.Encoder, error) {
		own := *o
		own.WriteOptions = *common
		return encode(t, p, &own)
	}
	c.Losses = func(p *format.Plan, _ *format.WriteOptions, l *format.LossList) { o.losses(p, l) }
	return &c
}

// refuse is the error for a plan or options that cannot be written.
func refuse(field string, sentinel error, text string, args ...any) error {
	return &format.Error{Format: formatName, Field: field, Offset: -1,
		Err: fmt.Errorf("%w: %w: %s", format.ErrPlan, sentinel, fmt.Sprintf(text, args...))}
}

func refuseTensor(t *tensor.Info, sentinel error, text string, args ...any) error {
	return refuse(fmt.Sprintf("tensor %q", t.Name), sentinel, text, args...)
}

// encode checks options and plan and starts a file.
func encode(t sink.Target, p *format.Plan, o *WriteOptions) (format.Encoder, error) {
	if err := o.check(t); err != nil {
		return nil, err
	}
	if err := o.checkTensors(p); err != nil {
		return nil, err
	}
	e := &encoder{t: t, o: o, plan: p}
	if err := e.layOut(); err != nil {
		return nil, err
	}
	if err := e.begin(); err != nil {
		return nil, err
	}
	return e, nil
}

// check fills in defaults and refuses options that contradict each other.
func (o *WriteOptions) check(t sink.Target) error {
	if o.Version == 0 {
		o.Version = maxVersion
	}
	if o.HeaderSize == 0 {
		o.HeaderSize = headerStruct
	} else if o.Version == 1 {
		return refuse("header_size", format.ErrUnsupported, "version 1 has no header size")
	}
	if o.Level == 0 {
		o.Level = codecs.DefaultLevel
	}
	if o.ChunkSize == 0 {
		o.ChunkSize = defaultChunk
	}
	switch {
	case o.Version != 1 && o.Version != 2:
		return refuse("version", format.ErrVersion, "%d, not %d or %d", o.Version, minVersion, maxVersion)
	case o.HeaderSize != headerText && o.HeaderSize != headerStruct:
		return refuse("header_size", format.ErrUnsupported, "%d, neither %d nor %d", o.HeaderSize, headerText, headerStruct)
	case o.Version == 1 && (o.Compression != MethodNone || o.Chunked || o.Key != nil || o.Signer != nil):
		return refuse("version", format.ErrUnsupported, "version 1 has no compression, encryption or signature")
	case int(o.Compression) >= len(methods):
		return refuse("compression", format.ErrUnsupported, "unknown method %d", o.Compression)
	case o.Compression == MethodBrotli && !brotli.Writes():
		return refuse("compression", format.ErrUnsupported, "%v", brotli.ErrNoWriter)
	case o.Level < 1 || o.Level > 9:
		return refuse("level", format.ErrUnsupported, "%d, not 1 to 9", o.Level)
	case o.Chunked && o.Compression == MethodNone:
		return refuse("chunked", format.ErrUnsupported, "weights are cut into chunks only when they are compressed")
	case o.ChunkSize < 0 || o.ChunkSize > 1<<30:
		return refuse("chunk size", format.ErrLimit, "%d bytes, not 1 to %d", o.ChunkSize, 1<<30)
	case o.Signer != nil && len(o.Signer) != ed25519.PrivateKeySize:
		return refuse("signer", format.ErrKey, "%d bytes, a private key has %d", len(o.Signer), ed25519.PrivateKeySize)
	case o.Version == 2 && t.Sequential():
		return refuse("checksums", format.ErrUnsupported, "the header of version 2 holds checksums of what follows: %v", sink.ErrSequential)
	}
	o.ChunkSize = (o.ChunkSize + alignment - 1) &^ (alignment - 1)
	return nil
}

// checkTensors refuses a method that is not for these tensors.
func (o *WriteOptions) checkTensors(p *format.Plan) error {
	for i := range p.Tensors {
		if t := &p.Tensors[i]; o.Compression.lossy() && t.DType != tensor.Float32 {
			return refuseTensor(t, format.ErrUnsupported, "%v compresses float32, not %v", o.Compression, t.DType)
		}
	}
	return nil
}
