package write

import (
	"crypto"
	"crypto/ed25519"
	"fmt"
	"slices"

	"github.com/weightmap/weightmap/examples/cli"
	"github.com/weightmap/weightmap/examples/weightmap/internal/modelfile"
	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/gguf"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/mag"
	"github.com/weightmap/weightmap/mle"
	_ "github.com/weightmap/weightmap/mle/brotli" // to write Brotli
	"github.com/weightmap/weightmap/mobi"
	"github.com/weightmap/weightmap/tensor"
	"github.com/weightmap/weightmap/wia"
)

// Rewrite writes an open model with other metadata, in the same format, compression and encryption.
// It does not sign the file.
func Rewrite(m *format.Model, path string, meta schema.Metadata, common *format.WriteOptions,
	key []byte) error {
	p, err := m.Schema()
	if err != nil {
		return err
	}
	p.Metadata = meta
	o, err := storedAs(m, p, common, key)
	if err != nil {
		return err
	}
	w, err := format.Create(path, p, o)
	if err != nil {
		return err
	}
	defer w.Abort()
	err = w.WriteModel(m)
	if err != nil {
		return err
	}
	return w.Close()
}

// storedAs returns options that store a model as its file does. It begins with those in common.
func storedAs(m *format.Model, p *schema.Schema, common *format.WriteOptions,
	key []byte) (*format.WriteOptions, error) {
	f, err := format.ByName(m.Format())
	if err != nil {
		return nil, err
	}
	o := common.With(f)
	if modelfile.Encrypted(m) {
		o.Key = key
	}
	switch f.(type) {
	case mle.Format:
		storeMLE(m, o)
	case wia.Format:
		storeWIA(m, o)
	case mag.Format:
		f, _ := mag.From(m)
		o.Format = mag.Format{Snapshot: f.Snapshot()}
		o.Extended = !f.Snapshot()
	case mobi.Format:
		if slices.ContainsFunc(p.Tensors, func(t tensor.Info) bool { return t.Compression != "" }) {
			o.Compression = "gzip"
		}
	}
	return o, nil
}

// KeepsEnding returns an error if the target has the extension of another format, unless the source
// has it, too.
func KeepsEnding(m *format.Model, in, out string) error {
	ending := modelfile.FormatOf(out)
	if ending != "" && ending != m.Format() && in != out {
		return cli.BadArgument(fmt.Errorf("%s: the model stays %s, but the name ends like a %s file; use convert to change the format", out, m.Format(), ending))
	}
	return nil
}

// dropped describes the protection that a new file loses.
func dropped(m *format.Model, o *format.WriteOptions) string {
	return cli.Dropped(modelfile.Encrypted(m) && o.Key == nil, m.Signature() != nil && o.Signer == nil)
}

// metadataOf returns the metadata with the types in the file.
func metadataOf(m *format.Model) (schema.Metadata, error) {
	if f, ok := gguf.From(m); ok {
		return f.Typed()
	}
	p, err := m.Schema()
	if err != nil {
		return nil, err
	}
	return p.Metadata, nil
}

// storeMLE stores weights as the file does, except that int8 weights are stored plainly, since
// quantizing them again would change them.
func storeMLE(m *format.Model, o *format.WriteOptions) {
	f, _ := mle.From(m)
	to := mle.Format{Version: int(f.Header().Version), IR: f.IR()}
	if to.Version > 1 {
		to.HeaderSize = int(f.Header().HeaderSize)
	}
	c, ok := f.Compression()
	switch {
	case !ok || c.Method == mle.MethodNone || c.Method == mle.MethodInt8:
	case c.Method == mle.MethodFloat16:
		to.Lossy = c.Method
		to.Chunked = c.Chunks > 0
	default:
		o.Compression = c.Method.Name()
		o.Level = min(int(c.Level), 9)
		to.Chunked = c.Chunks > 0
	}
	o.Format = to
}

// storeWIA stores blocks and tensors as the file does.
func storeWIA(m *format.Model, o *format.WriteOptions) {
	f, _ := wia.From(m)
	if f.Compression() != wia.None {
		o.Compression = f.Compression().String()
	}
	// A schema does not say how tensors are stored. A tensor in a compressed graph is compressed
	// with the graph (Stored is -1).
	packed := map[string]wia.Compression{}
	o.Format = wia.Format{CompressTensor: func(t tensor.Info) wia.Compression { return packed[t.Name] }}
	for name, v := range f.Tensors() {
		for _, c := range []wia.Compression{wia.Gzip, wia.Zstd} {
			if info := v.Info(); info.Compression == c.String() && info.Stored >= 0 {
				packed[name] = c
			}
		}
		if size := v.Info().Size; f.External(name) && (o.ExternalFrom == 0 || size < o.ExternalFrom) {
			o.ExternalFrom = max(size, 1)
		}
	}
}

// SignerError is the error of a key of another type than a format needs.
type SignerError struct {
	text  string
	Needs string // the type, as keygen calls it
}

func (e *SignerError) Error() string { return e.text }

// CheckSigner returns a SignerError if a format does not support the type of key.
func CheckSigner(kind string, signer crypto.Signer) error {
	_, ed := signer.(ed25519.PrivateKey)
	switch {
	case kind == "mle" && !ed:
		return &SignerError{fmt.Sprintf("MLE files need an Ed25519 key, not a %T", signer), "ed25519"}
	case kind == "wia" && ed:
		return &SignerError{"WIA files need an RSA key or an ECDSA key on P-256, not an Ed25519 key",
			"ecdsa"}
	}
	return nil
}

// MakeKey returns advice to make a key of a type. keygen replaces no file, so the names are new.
func MakeKey(kind string) string {
	private := "key.pem"
	public := "pub.pem"
	if modelfile.Exists(private) || modelfile.Exists(public) {
		private = kind + "-key.pem"
		public = kind + "-pub.pem"
	}
	return "try: weightmap keygen -type " + kind + " " + private + " " + public
}
