package driver

import (
	"fmt"
	"strings"
)

// LossKind is a kind of thing that some formats cannot hold.
type LossKind string

// The kinds of losses. What becomes of a loss that WriteOptions.AcceptLoss of package format
// names is said here; those of the last three kinds cannot be accepted.
const (
	LossQuantization LossKind = "quantization" // a tensor's parameters: left out
	LossMetadata     LossKind = "metadata"     // an entry: left out
	LossGraph        LossKind = "graph"        // a graph that cannot be kept as it is: left out as a whole
	LossAttribute    LossKind = "attribute"    // of a node: left out
	LossConversion   LossKind = "conversion"   // a value with another type or fewer digits: converted
	LossValue        LossKind = "value"        // dtype or shape of a graph input or output: written as unknown
	LossLabel        LossKind = "label"        // a name that means nothing to a computation, of a graph, node or dim: left out
	LossName         LossKind = "name"         // a tensor's name: replaced by one that the format allows
	LossNative       LossKind = "native"       // what only the source's format has: left out
	LossDType        LossKind = "dtype"        // of a tensor
	LossShape        LossKind = "shape"        // of a tensor
	LossTensors      LossKind = "tensors"      // how many there are
)

// acceptable are the kinds that AcceptLoss may name.
var acceptable = []LossKind{LossQuantization, LossMetadata, LossGraph, LossAttribute, LossConversion, LossValue, LossLabel, LossName, LossNative}

// AcceptableLosses returns all that WriteOptions.AcceptLoss takes as a kind.
func AcceptableLosses() []string {
	var names []string
	for _, k := range acceptable {
		names = append(names, string(k))
	}
	return names
}

// Loss is one thing of a plan that a format cannot hold.
type Loss struct {
	Kind LossKind
	// Name says which: a tensor's name, the key of an entry, a part of the graph.
	Name string
	// Why is what stands in the way.
	Why string
	// Acceptable reports whether AcceptLoss may name it.
	Acceptable bool
}

// Item returns what names this loss alone in WriteOptions.AcceptLoss:
// "metadata:author", or the kind when there is no name.
func (l Loss) Item() string {
	if l.Name == "" {
		return string(l.Kind)
	}
	return string(l.Kind) + ":" + l.Name
}

// field is where an Error says that a loss is.
func (l Loss) field() string {
	switch l.Kind {
	case LossQuantization, LossName, LossDType, LossShape:
		return fmt.Sprintf("tensor %q", l.Name)
	case LossMetadata:
		return fmt.Sprintf("metadata %q", l.Name)
	}
	return strings.TrimSuffix(string(l.Kind)+" "+l.Name, " ")
}

// LossError is the refusal of a plan that a format cannot hold: everything it
// cannot hold and nobody accepted. It is ErrPlan and ErrUnsupported, and
// what stands in the way of the single losses. An *tensor.Error is around it.
type LossError struct {
	Format string
	Losses []Loss // in the order of the kinds above, those last that cannot be accepted

	causes []error // ErrPlan, ErrUnsupported, and one for each loss
}

// Error lists the losses on one line, as far as they fit there. Those that
// cannot be accepted come first.
func (e *LossError) Error() string {
	if len(e.Losses) == 1 {
		return planPrefix + strings.TrimPrefix(e.causes[len(e.causes)-1].Error(), planPrefix)
	}
	var drop, fixed []Loss
	for _, l := range e.Losses {
		if l.Acceptable {
			drop = append(drop, l)
		} else {
			fixed = append(fixed, l)
		}
	}
	text := fmt.Sprintf("%v: %v: the format cannot hold %d things", ErrPlan, ErrUnsupported, len(e.Losses))
	room := 360
	if len(fixed) > 0 && len(drop) > 0 {
		room /= 2
	}
	if len(fixed) > 0 {
		text += "; that rule it out: " + shortList(fixed, room)
	}
	if len(drop) > 0 {
		text += "; to accept or to remove: " + shortList(drop, room)
	}
	return text
}

// planPrefix is how the text of an error about a plan begins.
var planPrefix = ErrPlan.Error() + ": "

// Unwrap returns the sentinels.
func (e *LossError) Unwrap() []error { return e.causes }

// shortList names losses as far as there is room, and counts the rest.
func shortList(list []Loss, room int) string {
	const each = 100
	var b strings.Builder
	for i, l := range list {
		if i > 0 && b.Len() > room-each {
			fmt.Fprintf(&b, " and %d more", len(list)-i)
			break
		}
		if i > 0 {
			b.WriteString(", ")
		}
		item := l.Item() + " (" + l.Why + ")"
		if len(item) > each {
			item = strings.ToValidUTF8(item[:each], "") + "..."
		}
		b.WriteString(item)
	}
	return b.String()
}
