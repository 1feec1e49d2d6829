// Package onnx reads and writes ONNX models: tensors, graph and metadata.
//
// # A file
//
// One protocol buffer, a ModelProto. What matters of it, with the numbers of the fields:
//
//	ModelProto         1 ir_version  2 producer_name  3 producer_version  4 domain
//	                   5 model_version  6 doc_string  7 graph  8 opset_import
//	                   14 metadata_props
//	GraphProto         1 node*  2 name  5 initializer*  11 input*  12 output*
//	                   15 sparse_initializer*
//	TensorProto        1 dims*  2 data_type  8 name  14 data_location
//	    data in one of 9 raw_data, little-endian and row-major
//	                   4 float_data  5 int32_data  6 string_data  7 int64_data
//	                   10 double_data  11 uint64_data (typed data)
//	                   13 external_data* (location, offset, length; data_location is 1)
//
// The initializers of the graph are the tensors of the model. Raw data is handed out as
// it is in the file, by copy where it is not aligned; typed data is converted when
// it is used. Types without a dtype here have a [tensor.Encoding]: FLOAT8E4M3FNUZ, FLOAT8E5M2FNUZ,
// FLOAT8E8M0, FLOAT4E2M1, INT4, UINT4, INT2 and UINT2, which tensor.Decode reads from the bytes of raw
// data, the first element of a byte in its lowest bits; and those that are only listed: COMPLEX128, STRING with the fields of string_data in wire form (see
// [File.Strings]), codes that are not known as "type 99", or "type 99 in int32_data" with the
// fields of that list, and sparse tensors as "SPARSE FLOAT", a whole SparseTensorProto in
// wire form.
//
// ir_version and opset_import are the metadata entries "ir_version", an integer, and
// "opsets", a JSON array of {"domain", "version"}. The other fields of the model have
// their own names; the strings of metadata_props follow. Fields 2 to 6 and entries of
// metadata_props of the same name are told apart by order alone.
//
// Tensors of attributes stay in the graph as views. Subgraphs are attributes; their
// initializers are in their scope: the neutral graph has their names.
//
// Everything else is native (see [format.Plan]): functions, trainings, types of intermediate
// values, quantization annotations, doc strings, fields that the tables do not have. It is
// checked for its wire form. Its kinds are called as their fields
// are: "functions", "training_info", "value_info", "doc_string"; "unknown_fields" and
// "subgraph_initializers" are the others.
//
// # What is refused
//
//   - An empty file, the text form, a file without a graph, fields that are known and of
//     another wire type, invalid UTF-8 in strings, groups, more than 100 levels.
//   - Tensors without a type, in segments, with negative dims or products of 2^63 and
//     more, with raw data or a list of another length than the shape, with raw and typed
//     data, with data in two lists or in the list of another type, with none at all;
//     typed values that do not fit the type (on use).
//   - Initializers without a name, or with one that occurs twice in their graph; inputs of
//     a graph and attributes of a node that occur twice; keys of metadata_props too.
//   - External locations that are absolute, lead out of the model's directory, or name a
//     drive or a URL; offsets and lengths that are no decimal numbers or occur twice, and
//     a length other than the tensor's size. Without a length, all that follows the offset
//     must be the tensor: the file is opened with the model then, else on first use.
//
// Unknown fields are native. A field that occurs again replaces, or merges with, the
// one before, as protocol buffers do. A file that does not say its IR version or operator
// sets is noted; one with two graphs, such as two models in a row, is refused. Checksums of external data are not looked at.
//
// # Detection
//
// There is no magic. A file is taken for ONNX when its first 256 bytes are fields of
// a ModelProto with plausible values, in any order, and either ir_version is one of
// several, or a graph begins as graphs do. An IR version below 1 or above 1000, and texts with
// control characters, need operator sets as well. The writer puts these in front, so that what
// it writes is recognized.
//
// # Writing
//
// The graph comes last. Tensors become raw data at multiples of 64 bytes: data_type is repeated in front of
// it as often as fills the gap, which protocol buffers allow for any field and readers
// do not see. Files of more than 2 GiB are no protocol buffers to most readers: they
// are refused, and WriteOptions.ExternalFrom puts data into a file beside the model, at
// multiples of 64 bytes, from 4096 bytes on of 4096. The name of that file is that of the
// model (WriteOptions.External says another), ".onnx" unless it ends so, a hash of its content,
// and ".data": "m.onnx.3f084b51d810557b.data". So no other data is replaced, and the old
// model stays whole until the new one is in place; then older files of that pattern are
// removed, unless an ONNX model in that directory names them. Nothing is removed when a model
// there cannot be read, and only what the replaced model named while somebody seems to
// write there: while there is a temporary file that its writer has locked or, where that cannot be told, of less than a day. A model without external data removes none. A name of
// more than 100 bytes is cut, and a hash of it follows. The writer says IR version 8 (or the
// first that has the types of all tensors), version 17 of ONNX's operators and version 1 of
// other domains, and calls the graph "graph", where the plan says nothing.
//
// A plan with the Native of an ONNX file is a copy: every field of the model is written as it
// is in that file, node by node, and only what the plan changed is another: metadata,
// tensors, names of tensors (Native.Renamed). Annotations of tensors that are gone, types of
// values once a tensor has another dtype, and everything native of a graph that was changed,
// are losses. External data of tensors inside the graph becomes part of the model.
//
// The format has no quantization parameters, no strings of another type in its metadata,
// no operators but its own in its own domain, unless the metadata names operator sets. The plan is refused with the list of what
// would be lost; see format.WriteOptions.AcceptLoss.
//
// # Verification
//
// The format has no checksums. Verify reads the structure again, and touches all data.
package onnx
