package driver

import "github.com/weightmap/weightmap/format/plan"

type (
	Plan         = plan.Plan
	Metadata     = plan.Metadata
	Entry        = plan.Entry
	Graph        = plan.Graph
	Node         = plan.Node
	Attribute    = plan.Attribute
	Dim          = plan.Dim
	ValueInfo    = plan.ValueInfo
	Native       = plan.Native
	NativeKind   = plan.NativeKind
	LossKind     = plan.LossKind
	Loss         = plan.Loss
	LossError    = plan.LossError
	LossList     = plan.LossList
	WriteOptions = plan.WriteOptions
	Storage      = plan.Storage
	Spool        = plan.Spool
	Progress     = plan.Progress
)

const (
	LossQuantization = plan.LossQuantization
	LossMetadata     = plan.LossMetadata
	LossGraph        = plan.LossGraph
	LossAttribute    = plan.LossAttribute
	LossConversion   = plan.LossConversion
	LossValue        = plan.LossValue
	LossLabel        = plan.LossLabel
	LossName         = plan.LossName
	LossNative       = plan.LossNative
	LossDType        = plan.LossDType
	LossShape        = plan.LossShape
	LossTensors      = plan.LossTensors
	SpoolFile        = plan.SpoolFile
	SpoolMemory      = plan.SpoolMemory
	SpoolNever       = plan.SpoolNever
	DynamicDim       = plan.DynamicDim
)

var (
	ErrPlan          = plan.ErrPlan
	AcceptableLosses = plan.AcceptableLosses
	AttributeName    = plan.AttributeName
	CreationTime     = plan.CreationTime
	SignatureTime    = plan.SignatureTime
	FixedDims        = plan.FixedDims
	Number           = plan.Number
	TypeName         = plan.TypeName
)
