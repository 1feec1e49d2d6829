package mle

import (
	"crypto/ed25519"
	"encoding/binary"
	"slices"
	"strings"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/jsonmeta"
)

// fileFormat is the driver, with its write options.
type fileFormat struct{ opts WriteOptions }

var codec = format.With(fileFormat{})

func init() {
	format.Register(fileFormat{})
}

// Describe implements driver.Driver.
func (fileFormat) Describe() driver.Description {
	return driver.Description{Name: formatName, Extensions: extensions, TakeValue: jsonmeta.Value,
		Stores: driver.Compresses | driver.Signs | driver.Encrypts | driver.Aligns64}
}

var extensions = []string{".mle"}

// Detect implements driver.Driver.
func (fileFormat) Detect(head []byte, _ int64) bool {
	return len(head) >= 4 && binary.LittleEndian.Uint32(head) == magic
}

// Layout implements driver.Writer. Version 2 does not stream, since its header has
// checksums of the sections.
func (d fileFormat) Layout(p *schema.Schema, o *driver.WriteOptions) (*driver.Layout, error) {
	return &driver.Layout{
		Encode:  func(t driver.Target) (driver.Encoder, error) { return encode(t, p, o, d.opts) },
		Streams: d.opts.Version == 1, Ordered: d.opts.Quantized || d.opts.Compression != MethodNone, Secret: d.opts.Key != nil,
	}, nil
}

// Configure implements driver.Configurable.
func (d fileFormat) Configure(own any, common *driver.WriteOptions) (driver.Driver, error) {
	o, err := driver.OwnOptions(formatName, own, d.opts, (*WriteOptions).common)
	if err != nil {
		return nil, err
	}
	if common.Compression != "" {
		m := slices.Index(lossless, common.Compression)
		if m < 0 {
			return nil, driver.OptionError(formatName, "Compression", "%q, MLE has %s", common.Compression, strings.Join(lossless, ", "))
		}
		o.Compression, o.Level = MethodLZ4+Method(m), common.Level
	}
	if common.Signer != nil {
		key, ok := common.Signer.(ed25519.PrivateKey)
		if !ok {
			return nil, driver.OptionError(formatName, "Signer", "%T, MLE takes Ed25519 keys", common.Signer)
		}
		if err := checkSigner(key); err != nil {
			return nil, err
		}
		o.Signer = key
	}
	if common.Key != nil {
		o.Key = common.Key
	}
	return fileFormat{o}, nil
}

// lossless lists the values of Storage.Compression, from MethodLZ4 on.
var lossless = []string{MethodLZ4.Name(), MethodZstd.Name(), MethodBrotli.Name()}
