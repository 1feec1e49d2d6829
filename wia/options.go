package wia

import (
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/codec/gzip"
	"github.com/weightmap/weightmap/internal/codec/zstd"
	"github.com/weightmap/weightmap/tensor"
)

// Format is WIA, with the options for writing that only it has. The zero value writes checksums.
//
// Of format.WriteOptions, Compression is "gzip" or "zstd", for the metadata and graph blocks and
// for each tensor. Compressed tensors cannot be views into the mapping, and a file with any cannot
// be streamed (see Spool), since sizes precede the data. With a Key, the tensor block is assembled
// in memory; external data is never encrypted. Signer is an RSA key ("RSA-SHA256") or an ECDSA key
// on P-256 ("ECDSA"). It signs the checksums, and Time is the time of the signature. ExternalFrom
// requires a path, since a stream has no directory.
type Format struct {
	// CompressTensor returns the compression of a tensor. With nil that is Compression. Its
	// argument is a tensor of the schema, so Info.Compression is "", Stored is Size, and
	// Offset is -1. It may be called more than once for a tensor, and its result
	// for external data is not used.
	CompressTensor func(tensor.Info) Compression
}

// Driver implements format.Format.
func (f Format) Driver() driver.Driver { return fileFormat(f) }

// settings are the options of one file.
type settings struct {
	common      *driver.LayoutOptions // what other formats have too
	compression Compression           // of the blocks
	ofTensor    func(tensor.Info) Compression
}

// settings returns the options of a file.
func (d fileFormat) settings(o *driver.LayoutOptions) (*settings, error) {
	c := &settings{common: o, ofTensor: d.CompressTensor}
	switch o.Compression {
	case "":
	case gzip.Codec.Name:
		c.compression = Gzip
	case zstd.Codec.Name:
		c.compression = Zstd
	default:
		return nil, driver.OptionError(formatName, "Compression",
			"%q, WIA has gzip and zstd", o.Compression)
	}
	if c.ofTensor == nil {
		c.ofTensor = func(tensor.Info) Compression { return c.compression }
	}
	return c, nil
}
