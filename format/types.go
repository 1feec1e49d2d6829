package format

import (
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/tensor"
)

// The types that formats and programs share are those of package driver.
type (
	// Plan says what a writer will write: tensors, metadata, graph.
	Plan = driver.Plan
	// Metadata is a file's key-value pairs in file order.
	Metadata = driver.Metadata
	// Entry is one pair of Metadata.
	Entry = driver.Entry
	// Graph is the neutral form of an operator graph.
	Graph = driver.Graph
	// Node is one operator of a Graph.
	Node = driver.Node
	// Attribute is a named parameter of a Node.
	Attribute = driver.Attribute
	// Native is what a file says that only its format has a place for.
	Native = driver.Native
	// NativeKind is one kind of thing in a Native.
	NativeKind = driver.NativeKind
	// ValueInfo describes a value that enters or leaves a Graph.
	ValueInfo = driver.ValueInfo
	// Dim is one dim of a ValueInfo.
	Dim = driver.Dim
	// Signature is what a signed file says of its signer.
	Signature = driver.Signature
	// SignatureState is what a verification found out about a signature.
	SignatureState = driver.SignatureState
	// Storage asks for compression, a signature and the like.
	Storage = driver.Storage
	// Spool says where a file is assembled whose header depends on its data.
	Spool = driver.Spool
	// Check says which checksums are verified when.
	Check = driver.Check
	// Progress is called with bytes done, bytes there are, and the tensor at work.
	Progress = driver.Progress
	// LossError is the refusal of a plan that a format cannot hold.
	LossError = driver.LossError
	// Loss is one thing of a plan that a format cannot hold.
	Loss = driver.Loss
	// LossKind is a kind of Loss.
	LossKind = driver.LossKind
	// Error says where in which file something is wrong.
	Error = tensor.Error
)

// The values of Check.
const (
	CheckDefault   = driver.CheckDefault   // sums of the structure on open; data as the format demands
	CheckStructure = driver.CheckStructure // no sums
	CheckTouch     = driver.CheckTouch     // sums of the structure on open, of data before its first use
	CheckAll       = driver.CheckAll       // everything on open, as Model.Verify does
)

// The values of Spool.
const (
	SpoolFile   = driver.SpoolFile   // in a temporary file
	SpoolMemory = driver.SpoolMemory // in memory
	SpoolNever  = driver.SpoolNever  // nowhere: what cannot be streamed is ErrUnsupported
)

// The values of SignatureState.
const (
	Unsigned         = driver.Unsigned         // the file carries no signature
	SignatureUnknown = driver.SignatureUnknown // there is one, and no trusted key to check it with
	SignatureTrusted = driver.SignatureTrusted // valid, by the trusted key
)

// The kinds of losses. What becomes of a loss that WriteOptions.AcceptLoss
// names is said here; those of the last three kinds cannot be accepted.
const (
	LossQuantization = driver.LossQuantization // a tensor's parameters: left out
	LossMetadata     = driver.LossMetadata     // an entry: left out
	LossGraph        = driver.LossGraph        // a graph that cannot be kept as it is: left out as a whole
	LossAttribute    = driver.LossAttribute    // of a node: left out
	LossConversion   = driver.LossConversion   // a value with another type or fewer digits: converted
	LossValue        = driver.LossValue        // dtype or shape of a graph input or output: written as unknown
	LossLabel        = driver.LossLabel        // a name that means nothing to a computation: left out
	LossName         = driver.LossName         // a tensor's name: replaced by one that the format allows
	LossNative       = driver.LossNative       // what only the source's format has: left out
	LossDType        = driver.LossDType        // of a tensor
	LossShape        = driver.LossShape        // of a tensor
	LossTensors      = driver.LossTensors      // how many there are
)

// AcceptableLosses returns all that WriteOptions.AcceptLoss takes as a kind.
func AcceptableLosses() []string { return driver.AcceptableLosses() }

// DynamicDim is the Size of a Dim that is decided at run time.
const DynamicDim = driver.DynamicDim

// FixedDims makes dims of plain numbers.
func FixedDims(shape ...int64) []Dim { return driver.FixedDims(shape...) }

// The sentinels of errors, for errors.Is.
var (
	ErrMagic         = driver.ErrMagic         // the file is not of this format
	ErrVersion       = driver.ErrVersion       // an unsupported version of a known format
	ErrUnknownFormat = driver.ErrUnknownFormat // no registered format, or none of that name
	ErrChecksum      = driver.ErrChecksum      // stored and computed sums differ
	ErrUnsupported   = driver.ErrUnsupported   // legal, but not here: a dtype, an option, a feature
	ErrSignature     = driver.ErrSignature     // missing, by another key, or tampered with
	ErrKey           = driver.ErrKey           // wrong or missing key of an encrypted file
	ErrPlan          = driver.ErrPlan          // a writer was asked for what it cannot write
	ErrAborted       = driver.ErrAborted       // the writer failed or was aborted before
	ErrNotDurable    = driver.ErrNotDurable    // the new file is in place, but its directory could not be synced
	ErrOption        = driver.ErrOption        // an option that makes no sense

	ErrClosed       = tensor.ErrClosed       // the model was closed
	ErrNotFound     = tensor.ErrNotFound     // there is no tensor of that name
	ErrTruncated    = tensor.ErrTruncated    // bytes that the file promised are not there
	ErrCorrupt      = tensor.ErrCorrupt      // fields contradict each other or the format
	ErrLimit        = tensor.ErrLimit        // a limit of the caller, or of this platform, is exceeded
	ErrDType        = tensor.ErrDType        // another element type than the tensor's was asked for
	ErrMisaligned   = tensor.ErrMisaligned   // memory is not aligned for the element type
	ErrByteOrder    = tensor.ErrByteOrder    // no view without a copy on a big-endian host
	ErrShape        = tensor.ErrShape        // an invalid shape, range or buffer
	ErrQuantization = tensor.ErrQuantization // unsound quantization parameters
)
