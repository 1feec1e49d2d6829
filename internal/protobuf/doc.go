// Package protobuf reads and writes the protocol buffers of the formats wia and onnx, from memory
// or from a file of any size. Tables of fields describe the messages, which are validated against
// them.
//
// A Defect describes an error in a message and its location, as a path such as
// "nodes[3].attributes[1].t.dims". Valid input does not pay for paths.
package protobuf
