package schema

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/weightmap/weightmap/internal/oneline"
	"github.com/weightmap/weightmap/tensor"
)

// LossKind says what part of a schema a format cannot hold.
type LossKind string

// The kinds of losses, each with what a writer does when WriteOptions.AcceptLoss names it. The last
// three kinds cannot be accepted.
const (
	LossQuantization LossKind = "quantization" // a tensor's parameters: left out
	LossMetadata     LossKind = "metadata"     // an entry: left out
	LossGraph        LossKind = "graph"        // a graph that cannot be kept as it is: left out as a whole
	LossAttribute    LossKind = "attribute"    // of a node: left out
	LossConversion   LossKind = "conversion"   // a value with another type or fewer digits: converted
	LossValue        LossKind = "value"        // dtype or shape of a graph input or output: written as unknown
	LossLabel        LossKind = "label"        // a name or words that mean nothing to a computation, of a graph, node or dim: left out
	LossName         LossKind = "name"         // a tensor's name: replaced by one that the format allows
	LossNative       LossKind = "native"       // what only the source's format has: left out
	LossPart         LossKind = "part"         // the other parts of a model: this part is written as if it were all
	LossDType        LossKind = "dtype"        // of a tensor
	LossShape        LossKind = "shape"        // of a tensor
	LossTensors      LossKind = "tensors"      // how many there are
)

// acceptable lists the kinds that AcceptLoss may name.
var acceptable = []string{
	string(LossQuantization), string(LossMetadata), string(LossGraph), string(LossAttribute), string(LossConversion),
	string(LossValue), string(LossLabel), string(LossName), string(LossNative), string(LossPart),
}

// AcceptableLosses returns the kinds that WriteOptions.AcceptLoss may name.
func AcceptableLosses() []string { return slices.Clone(acceptable) }

// Loss is one part of a schema that a format cannot hold.
type Loss struct {
	Kind LossKind // what would be lost
	Name string   // of the tensor, the metadata key or the part of the graph
	Why  string   // the reason, such as "no such dtype"
	// Acceptable reports whether WriteOptions.AcceptLoss may name it.
	Acceptable bool
}

// mostName is the length of a name in messages.
const mostName = 80

// Item returns the loss as WriteOptions.AcceptLoss names it: "metadata:author", or the kind
// when Name is empty.
func (l Loss) Item() string {
	if l.Name == "" {
		return string(l.Kind)
	}
	return string(l.Kind) + ":" + l.Name
}

// String returns the part and the reason, on one line.
func (l Loss) String() string { return l.Part() + ": " + oneline.Text(l.Why) }

// Part describes what is lost, such as `metadata "author"` or `name of tensor "w"`, for messages.
func (l Loss) Part() string {
	name := l.Name
	if len(name) > mostName {
		name = strings.ToValidUTF8(name[:mostName], "") + "..."
	}
	plain := name
	if strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }) {
		plain = oneline.Text(name)
	}
	switch l.Kind {
	case LossQuantization, LossName, LossShape:
		return fmt.Sprintf("%s of tensor %q", l.Kind, name)
	case LossDType:
		return fmt.Sprintf("tensor %q", name)
	case LossMetadata:
		return fmt.Sprintf("metadata %q", name)
	case LossConversion:
		return plain
	}
	return strings.TrimSuffix(string(l.Kind)+" "+plain, " ")
}

// field returns the Field of an Error about the loss.
func (l Loss) field() string {
	switch l.Kind {
	case LossQuantization, LossName, LossDType, LossShape:
		return fmt.Sprintf("tensor %q", l.Name)
	case LossMetadata:
		return fmt.Sprintf("metadata %q", l.Name)
	}
	return strings.TrimSuffix(string(l.Kind)+" "+l.Name, " ")
}

// LossError is the error for a schema that a format cannot hold. It lists every loss that
// WriteOptions.AcceptLoss does not name. It wraps ErrSchema, ErrUnsupported and the causes of
// the losses; use errors.As to find it in the error of Create, NewWriter, Save or convert.File.
type LossError struct {
	Format string // the name of the format, "mag"
	Losses []Loss // in the order of the constants of LossKind

	causes []error // ErrSchema, ErrUnsupported, and one for each loss
}

// Error lists as many losses as fit on one line, those first that cannot be accepted.
func (e *LossError) Error() string {
	if len(e.Losses) == 1 {
		return schemaPrefix + strings.TrimPrefix(e.causes[len(e.causes)-1].Error(), schemaPrefix)
	}
	drop := e.Losses
	fixed := []Loss(nil)
	if i := slices.IndexFunc(drop, func(l Loss) bool { return !l.Acceptable }); i >= 0 {
		drop, fixed = drop[:i], drop[i:]
	}
	text := schemaPrefix + tensor.ErrUnsupported.Error()
	room := 360
	separator := ": the format"
	if len(fixed) > 0 && len(drop) > 0 {
		room /= 2
	}
	if len(fixed) > 0 {
		text += separator + shortList(" cannot store ", fixed, room)
		separator = "; it"
	}
	if len(drop) > 0 {
		text += separator + shortList(" would drop ", drop, room)
	}
	return text
}

// GoString implements fmt.GoStringer like Error.
func (e *LossError) GoString() string { return e.Error() }

// schemaPrefix is the prefix of errors about a schema.
var schemaPrefix = tensor.ErrSchema.Error() + ": "

// Unwrap returns ErrSchema, ErrUnsupported and the cause of each loss.
func (e *LossError) Unwrap() []error { return e.causes }

// shortList names as many losses as fit in room bytes, behind what they are, and counts the rest.
func shortList(what string, list []Loss, room int) string {
	const each = 100
	var b strings.Builder
	room += len(what)
	for i, l := range list {
		if i > 0 && b.Len() > room-each {
			fmt.Fprintf(&b, " and %d more", len(list)-i)
			break
		}
		b.WriteString(what)
		what = ", "
		item := l.Part() + " (" + l.Why + ")"
		if len(item) > each {
			item = strings.ToValidUTF8(item[:each], "") + "..."
		}
		b.WriteString(item)
	}
	return b.String()
}
