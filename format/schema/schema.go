// Package schema describes what a model file holds, in whatever format: tensors, metadata, a graph,
// and what only one format can store.
//
// A reader returns metadata and graph, and a writer gets them in a Schema. A LossList collects the
// parts of a schema that a format cannot hold.
package schema

import (
	"crypto"

	"github.com/weightmap/weightmap/tensor"
)

// Schema describes a file before its data is written, so that a writer knows every size and offset
// and streams the data once. A writer copies the schema: the caller may change it afterwards.
type Schema struct {
	// Metadata is the key-value pairs in file order.
	Metadata Metadata
	// Tensors lists the tensors in file order. A writer uses Name, DType and Shape, Encoding where
	// DType is Invalid, and Quant where the format stores it. It ignores the other fields. Drivers
	// find names, shapes and sizes checked, and Size set. All together have at most 2^61 bytes.
	Tensors []tensor.Info
	Graph   *Graph // nil for none
	// Docs says in words what parts of the model are, in the order of the file, the graph first. A
	// format without places for them lists them as LossLabel. Those of tensors or of a graph that
	// the schema does not have are ignored. Docs go by index: a program that removes or moves nodes
	// or other parts of the graph calls Renumber.
	Docs []Doc
	// Native holds what only one format can store, nil for nothing. format.Model.Schema sets it.
	Native *Native
	// Part and Parts say that the tensors are those of part Part, from 1, of a model of Parts
	// files. Both are 0 for a whole model. Writing a part as if it were a model is a LossPart.
	// format.Model.Schema sets them; a caller that adds the tensors of the other parts sets them to
	// 0.
	Part, Parts int
}

// Native holds what only one format can store, such as the functions of ONNX and fields that this
// library does not know. A copy to the same format keeps it; a copy to another
// format lists its kinds as losses.
type Native struct {
	Format string       // the name of that format
	Kinds  []NativeKind // sorted by name
	Raw    []byte       // encoded by the format's driver
	// Renamed maps names of tensors in the schema to their names in the file. A caller that renames
	// tensors of the schema sets it; names that stay the same may be left out.
	Renamed map[string]string
}

// NativeKind counts the items of one kind in a Native.
type NativeKind struct {
	Name  string   // "functions"
	Count int      // the number of items
	Bytes int64    // their size in the file
	Sum   [32]byte // equal for equal items in equal places
}

// Signature is what a signed file states about its signature; Model.Verify and Model.CheckClaim
// check it.
type Signature struct {
	Algorithm string           // "Ed25519", "RSA-SHA256", "ECDSA"
	PublicKey crypto.PublicKey // the key in the file, nil for none
	Timestamp int64            // Unix seconds
}
