package format

import "github.com/weightmap/weightmap/internal/mapped"

// Options changes how a model is opened. Nil and the zero value work.
type Options struct {
	// Format forces a format by name instead of detecting it.
	Format string
	// Check says which checksums opening verifies.
	Check Check
	// MaxTensors refuses files with more tensors; 0 means 4,194,304.
	MaxTensors int
	// MaxHeaderBytes refuses files whose structural part (all but tensor data)
	// is larger, when it must be held in memory; 0 means 1 GiB.
	MaxHeaderBytes int64
	// MaxMetadataBytes and MaxGraphBytes bound compressed sections once they
	// are inflated. 0 means 64 MiB and 1 GiB, and no more than 256 times the
	// stored size or 16 MiB, whichever is more.
	MaxMetadataBytes int64
	MaxGraphBytes    int64
	// Key decrypts an encrypted file: 32 bytes for AES-256. It is not kept
	// longer than the model.
	Key []byte
	// Dir is where external data files are looked for when the model itself
	// was not opened by path.
	Dir string
	// Debug makes Close withdraw access to the mapping instead of unmapping
	// it, so that a use after Close stops the program at once. The address
	// space is not given back: for tests only.
	Debug bool
}

// Check says which checksums are verified without a call of Model.Verify. The
// layout itself is always checked.
type Check uint8

const (
	// CheckDefault verifies on open the sums of the structural part: headers and
	// records. Where the format demands that data is validated on read (mobi,
	// whose one sum covers the whole file), that happens before the first byte of
	// any tensor is handed out, once.
	CheckDefault Check = iota
	// CheckStructure verifies no checksums, neither on open nor on first use.
	CheckStructure
	// CheckAll verifies everything on open, as Model.Verify does.
	CheckAll
)

// Defaults of the limits.
const (
	DefaultMaxTensors       = 1 << 22
	DefaultMaxHeaderBytes   = 1 << 30
	DefaultMaxMetadataBytes = 64 << 20
	DefaultMaxGraphBytes    = 1 << 30
)

// WithDefaults returns a copy with every unset limit at its default, but for
// those that depend on what is stored: see MetadataLimit. It works on nil.
func (o *Options) WithDefaults() *Options {
	var c Options
	if o != nil {
		c = *o
	}
	if c.MaxTensors <= 0 {
		c.MaxTensors = DefaultMaxTensors
	}
	if c.MaxHeaderBytes <= 0 {
		c.MaxHeaderBytes = DefaultMaxHeaderBytes
	}
	c.MaxMetadataBytes = max(c.MaxMetadataBytes, 0)
	c.MaxGraphBytes = max(c.MaxGraphBytes, 0)
	return &c
}

// MetadataLimit returns how many bytes a compressed metadata section that is
// stored in so many may inflate to.
func (o *Options) MetadataLimit(stored int64) int64 {
	return inflated(o.MaxMetadataBytes, DefaultMaxMetadataBytes, stored)
}

// GraphLimit is MetadataLimit for a graph.
func (o *Options) GraphLimit(stored int64) int64 {
	return inflated(o.MaxGraphBytes, DefaultMaxGraphBytes, stored)
}

// Without limits of the caller's, a section may inflate to so many times its
// stored size, and to so many bytes in any case.
const (
	inflationRatio = 256
	inflationFloor = 16 << 20
)

// inflated returns the caller's limit, or the default one, which grows with
// what is stored.
func inflated(set, most, stored int64) int64 {
	switch {
	case set > 0:
		return set
	case stored >= most/inflationRatio:
		return most
	}
	return min(most, max(inflationRatio*stored, inflationFloor))
}

func (o *Options) mapping() mapped.Options { return mapped.Options{Debug: o.Debug} }
