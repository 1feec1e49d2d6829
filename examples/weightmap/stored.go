package main

import (
	"fmt"
	"slices"

	"github.com/weightmap/weightmap/examples/internal/cli"
	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/gguf"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/textmeta"
	"github.com/weightmap/weightmap/mag"
	"github.com/weightmap/weightmap/mle"
	_ "github.com/weightmap/weightmap/mle/brotli" // to write Brotli
	"github.com/weightmap/weightmap/mobi"
	"github.com/weightmap/weightmap/tensor"
	"github.com/weightmap/weightmap/wia"
)

// rewrite writes an open model with other metadata, in the same format, compression and encryption.
// It does not sign the file.
func rewrite(m *format.Model, path string, meta schema.Metadata, common *format.WriteOptions, key []byte) error {
	p, err := m.Schema()
	if err != nil {
		return err
	}
	p.Metadata = meta
	common.Format = storedAs(m, p, key)
	w, err := format.Create(m.Format(), path, p, common)
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

// storedAs returns format options that store a model as its file does, or nil.
func storedAs(m *format.Model, p *schema.Schema, key []byte) any {
	if f, ok := mle.From(m); ok {
		return mleOptions(f, key)
	}
	if f, ok := wia.From(m); ok {
		return wiaOptions(f, key)
	}
	if f, ok := mag.From(m); ok {
		return &mag.WriteOptions{Snapshot: f.Snapshot(), Extended: !f.Snapshot()}
	}
	if _, ok := mobi.From(m); ok && slices.ContainsFunc(p.Tensors, func(t tensor.Info) bool { return t.Compression != "" }) {
		return &mobi.WriteOptions{Gzip: 6}
	}
	return nil
}

// keepsEnding returns an error if the target has the extension of another format, unless the source
// has it, too.
func keepsEnding(m *format.Model, in, out string) error {
	if c, ok := format.ByExtension(out); ok && c.Name() != m.Format() && in != out {
		return cli.BadArgument(fmt.Errorf("%s: the model stays %s, and that is the ending of %s; convert changes formats", out, m.Format(), c.Name()))
	}
	return nil
}

// encrypted reports whether a model's file is encrypted.
func encrypted(m *format.Model) bool {
	if f, ok := mle.From(m); ok {
		return f.Header().Features.Has(mle.Encryption)
	}
	f, ok := wia.From(m)
	return ok && f.Encrypted()
}

// dropped describes the protection that a new file loses.
func dropped(m *format.Model, o *format.WriteOptions) string {
	return cli.Dropped(encrypted(m) && o.Key == nil, m.Signature() != nil && o.Signer == nil)
}

// metadataOf returns the metadata with the types in the file.
func metadataOf(m *format.Model) (schema.Metadata, error) {
	if f, ok := gguf.From(m); ok {
		return f.Typed()
	}
	meta, err := m.Metadata()
	return textmeta.Decode(meta), err
}

// mleOptions stores weights as the file does, except that int8 weights are stored plainly, since
// quantizing them again would change them.
func mleOptions(f *mle.File, key []byte) *mle.WriteOptions {
	o := &mle.WriteOptions{Version: int(f.Header().Version)}
	if encrypted(f.Model) {
		o.Key = key
	}
	if o.Version > 1 {
		o.HeaderSize = int(f.Header().HeaderSize)
	}
	if c, ok := f.Compression(); ok && c.Method != mle.MethodInt8 {
		o.Compression, o.Level, o.Chunked = c.Method, int(c.Level), c.Chunks > 0
	}
	o.IR = f.IR()
	return o
}

// wiaOptions stores blocks and tensors as the file does.
func wiaOptions(f *wia.File, key []byte) *wia.WriteOptions {
	o := &wia.WriteOptions{Compression: f.Compression()}
	if f.Encrypted() {
		o.Key = key
	}
	// A schema does not say how tensors are stored. A tensor in a compressed graph is compressed with
	// the graph (Stored is -1).
	packed := map[string]wia.Compression{}
	o.CompressTensor = func(t tensor.Info) wia.Compression { return packed[t.Name] }
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
	return o
}
