// Package protobuf is the wire code that the formats made of protocol buffers share:
// wia and onnx. It reads messages from memory or, window by window, from a file of any
// size; checks the wire rules by tables of fields; reads messages into Go structs and
// writes them. The tables are the formats' own.
//
// What is wrong with a message is a Defect with the path of the field, such as
// "nodes[3].attributes[1].t.dims", which costs good input nothing.
package protobuf
