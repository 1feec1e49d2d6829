// Package protobuf reads and writes the protocol buffers of the formats wia and onnx: from
// memory or from a file of any size, checked by tables of fields.
//
// A Defect says what is wrong with a message and where: in a field such as
// "nodes[3].attributes[1].t.dims". Good input costs nothing for it.
package protobuf
