package wia

import (
	"cmp"
	"encoding/binary"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/jsonmeta"
	"github.com/weightmap/weightmap/tensor"
)

// fileFormat is the driver, with its write options.
type fileFormat struct{ opts WriteOptions }

var wiaCodec = format.With(fileFormat{})

func init() {
	format.Register(fileFormat{})
}

var extensions = []string{".wia"}

// Describe implements driver.Driver.
func (fileFormat) Describe() driver.Description {
	return driver.Description{Name: formatName, Extensions: extensions, TakeValue: jsonmeta.Value,
		Stores: driver.Compresses | driver.Signs | driver.Encrypts | driver.MovesData | driver.Aligns64}
}

// Detect implements driver.Driver.
func (fileFormat) Detect(head []byte, _ int64) bool {
	return len(head) >= 4 && isMagic(binary.LittleEndian.Uint32(head))
}

// Operators implements driver.Vocabulary: the operators are those of ONNX.
func (fileFormat) Operators() []driver.Operator { return nil }

// Configure implements driver.Configurable. The compression applies to the
// blocks and to all tensors.
func (d fileFormat) Configure(own any, common *driver.WriteOptions) (driver.Driver, error) {
	o, err := driver.OwnOptions(formatName, own, d.opts, (*WriteOptions).common)
	if err != nil {
		return nil, err
	}
	if common.Compression != "" {
		c := map[string]Compression{"gzip": Gzip, "zstd": Zstd}[common.Compression]
		if c == None {
			return nil, driver.OptionError(formatName, "Compression", "%q, WIA has gzip and zstd", common.Compression)
		}
		o.Compression, o.Level = c, common.Level
		o.CompressTensor = func(tensor.Info) Compression { return c }
	}
	if common.Key != nil {
		o.Key = common.Key
	}
	o.Signer, o.ExternalFrom = cmp.Or(common.Signer, o.Signer), cmp.Or(common.ExternalFrom, o.ExternalFrom)
	return fileFormat{o}, nil
}
